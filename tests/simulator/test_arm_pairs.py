"""Requests and answers of ARM, written from the published specification, in ``pairs/*.yaml``.

An answer names the members that must be there. ``<text>``, ``<guid>``, ``<url>``, ``<time>`` and
``<list>`` stand for any value of that kind. Every type that is served has a pair for each of its
operations, so that a new one comes with them.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from simulator.arm.api import TYPES
from simulator.arm.ids import parse_text
from simulator.clock import Clock
from simulator.seed import SUBSCRIPTION_ID
from simulator.values import JsonObject, as_list, as_object, as_text, is_list, is_object
from simulator.world import World
from tests.simulator.azure import (
    CLUSTER,
    ENDPOINT,
    EXTENSION,
    GRAFANA,
    GROUP,
    NODE_GROUP,
    PLS,
    POOL,
    WORKSPACE,
    Azure,
    Kubernetes,
)

FOLDER: Final = Path(__file__).with_name("pairs")


class _Loader(yaml.SafeLoader):
    """YAML in which an API version is a text, not a date."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

PAIRS: Final = [
    as_object(pair)
    for file in sorted(FOLDER.glob("*.yaml"))
    for pair in as_list(yaml.load(file.read_text(), _Loader))  # noqa: S506 - a safe one
]
INSIGHTS: Final = f"{GROUP}/providers/Microsoft.Insights"
ACCOUNT: Final = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/profiles1"
IDENTITY: Final = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/id-profiles"
NETWORK: Final = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
PLACES: Final = {
    "SUBSCRIPTION": f"/subscriptions/{SUBSCRIPTION_ID}",
    "GROUP": GROUP,
    "CLUSTER": CLUSTER,
    "POOL": POOL,
    "EXTENSION": EXTENSION,
    "GRAFANA": GRAFANA,
    "ENDPOINT": ENDPOINT,
    "WORKSPACE": WORKSPACE,
    "NODE_GROUP": NODE_GROUP,
    "PLS": PLS,
    "INSIGHTS": INSIGHTS,
    "NETWORK": NETWORK,
    "ACCOUNT": ACCOUNT,
    "IDENTITY": IDENTITY,
}
KINDS: Final = {
    "<text>": r".*",
    "<guid>": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "<url>": r"https://.+",
    "<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
}
OPERATIONS: Final = {
    "Microsoft.Network/privateLinkServices": {"GET", "LIST", "DELETE"},
    "Microsoft.Authorization/roleDefinitions": {"GET", "LIST"},
    "Microsoft.Storage/storageAccounts/blobServices": {"GET", "LIST", "PUT"},
}
"""What is served of types that are not made, changed and deleted by everybody."""


def a_release(azure: Azure) -> None:
    cluster = Kubernetes(azure)
    cluster.make_namespace()
    cluster.release()


def a_network(azure: Azure) -> None:
    subnets = [{"name": "nodes", "properties": {"addressPrefix": "10.1.0.0/16"}}]
    azure.put(NETWORK, {"location": "westeurope", "properties": {"subnets": subnets}})


def a_collection(azure: Azure) -> None:
    for what in ("dataCollectionEndpoints/dce", "dataCollectionRules/dcr"):
        azure.put(f"{INSIGHTS}/{what}", {"location": "westeurope", "properties": {}})
    for what in ("dataCollectionEndpoints", "dataCollectionRules"):
        # What a workspace brings is in a group of its own.
        assert azure.call("GET", f"{INSIGHTS}/{what}").json()["value"]


def alerts(azure: Azure) -> None:
    rule = {"record": "a:b", "expression": "vector(1)"}
    azure.put(
        f"{GROUP}/providers/Microsoft.AlertsManagement/prometheusRuleGroups/rules",
        {"location": "westeurope", "properties": {"scopes": [WORKSPACE], "rules": [rule]}},
    )
    group = {"groupShortName": "oncall", "enabled": True}
    path = f"{INSIGHTS}/actionGroups/oncall"
    azure.arm("PUT", path, "2023-01-01", {"location": "Global", "properties": group})


def storage(azure: Azure) -> None:
    shared = {"allowSharedKeyAccess": False}
    account = {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
    assert azure.call("PUT", ACCOUNT, {**account, "properties": shared}).status_code == 202
    azure.settled(ACCOUNT)
    azure.put(f"{ACCOUNT}/blobServices/default/containers/profiles", {"properties": {}})


def identity(azure: Azure) -> None:
    azure.put(IDENTITY, {"location": "westeurope"})
    trust = {
        "issuer": "https://issuer.example.com/",
        "subject": "system:serviceaccount:gadget:pyroscope",
        "audiences": ["api://AzureADTokenExchange"],
    }
    azure.put(f"{IDENTITY}/federatedIdentityCredentials/pyroscope", {"properties": trust})


def a_lock(azure: Azure) -> None:
    path = f"{GROUP}/providers/Microsoft.Authorization/locks/keep"
    azure.arm("PUT", path, "2016-09-01", {"properties": {"level": "CanNotDelete"}})


GIVEN: Final[dict[str, Callable[[Azure], object]]] = {
    "pool": Azure.add_pool,
    "extension": Azure.install_agent,
    "endpoint": Azure.make_endpoint,
    "release": a_release,
    "network": a_network,
    "collection": a_collection,
    "lock": a_lock,
    "alerts": alerts,
    "storage": storage,
    "identity": identity,
}


def filled(value: object, places: dict[str, str]) -> object:
    """``value`` with the places named in it put in."""
    if is_object(value):
        return {key: filled(item, places) for key, item in value.items()}
    if is_list(value):
        return [filled(item, places) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\{([A-Z_]+)\}", lambda found: places[found[1]], value)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: as_text(pair["name"]))
def test_a_request_of_the_specification_is_answered_as_in_the_specification(
    azure: Azure, pair: JsonObject
) -> None:
    places = dict(PLACES)
    for step in as_list(pair.get("given")):
        GIVEN[as_text(step)](azure)
    if "{CONNECTION}" in str(pair):
        places["CONNECTION"] = as_text(azure.connections()[0]["name"])
    asked, wanted = as_object(pair["request"]), as_object(pair["answer"])
    answer = azure.call(
        as_text(asked["method"]),
        as_text(filled(asked["path"], places)),
        filled(asked["body"], places) if "body" in asked else None,
        **{"api-version": as_text(asked["version"])},
    )
    assert answer.status_code == wanted["status"], answer.text
    for name, value in as_object(wanted.get("headers")).items():
        assert matches(value, answer.headers.get(name)), (name, answer.headers)
    if "body" in wanted:
        assert differences(filled(wanted["body"], places), answer.json()) == []


def matches(wanted: object, found: object) -> bool:
    """Whether ``found`` is the value, or of the kind, that a pair names."""
    if wanted == "<list>":
        return is_list(found)
    if isinstance(wanted, str) and wanted in KINDS:
        return isinstance(found, str) and re.fullmatch(KINDS[wanted], found) is not None
    return wanted == found


def differences(wanted: object, found: object, path: str = "") -> list[str]:
    """What of ``wanted`` is not in ``found``."""
    if is_object(wanted):
        if not is_object(found):
            return [f"{path}: {found!r} is no object"]
        missing = [f"{path}.{key} is missing" for key in wanted if key not in found]
        inside = [key for key in wanted if key in found]
        return missing + [
            text for key in inside for text in differences(wanted[key], found[key], f"{path}.{key}")
        ]
    if is_list(wanted):
        if not is_list(found) or len(found) != len(wanted):
            return [f"{path}: {found!r} has not {len(wanted)} items"]
        pairs = enumerate(zip(wanted, found, strict=True))
        return [text for at, (a, b) in pairs for text in differences(a, b, f"{path}[{at}]")]
    return [] if matches(wanted, found) else [f"{path}: {found!r} is not {wanted!r}"]


def operations_of(pair: JsonObject) -> tuple[str, str]:
    """The type (lower case) and the operation that a pair is of."""
    asked = as_object(pair["request"])
    path = as_text(filled(asked["path"], {**PLACES, "CONNECTION": "c"}))
    method = as_text(asked["method"])
    target = parse_text(path)
    if target is None:
        return "microsoft.resources/resourcegroups", "LIST"
    if target.is_collection:
        action = path.rpartition("/")[2]
        if method == "POST":
            above = parse_text(path.rpartition("/")[0])
            return above.type.lower() if above else "", action.lower()
        return target.type.lower(), "LIST"
    return target.type.lower(), method


def test_every_type_has_a_pair_for_each_of_its_operations() -> None:
    shown = {operations_of(pair) for pair in PAIRS}
    world = World(Clock(0))
    missing: list[str] = []
    for kind in TYPES:
        served = kind(world)
        wanted = OPERATIONS.get(kind.type, {"GET", "LIST", "PUT", "DELETE"}) | set(served.actions)
        missing += [
            f"{kind.type}: {operation}"
            for operation in sorted(wanted)
            if (kind.type.lower(), operation) not in shown
        ]
    assert missing == []


def test_no_two_pairs_have_one_name() -> None:
    names = [as_text(pair["name"]) for pair in PAIRS]
    assert len(names) == len(set(names))
