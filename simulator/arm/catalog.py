"""What ARM tells about itself and as a whole: endpoints, providers, locations, lists of resources.

Everything here is read only. ``az resource ...`` begins with a provider's ``resourceTypes``, newest
API version first: it takes the first that is no preview. The shapes are those of
azure-mgmt-resource 24.0 and of the Azure CLI's own calls (azure-cli-core 2.91, ``cloud.py`` and
``_profile.py``).
"""

import re
from collections.abc import Sequence
from typing import Final

from simulator.arm import locations, roles
from simulator.arm.errors import ArmError, forbidden, group_not_found, not_found
from simulator.arm.ids import group_id, group_of, parse
from simulator.arm.resource_type import ResourceType
from simulator.arm.subscription import NAMESPACES, known_namespace
from simulator.http import Request, Response
from simulator.identity import ARM_AUDIENCES
from simulator.values import JsonObject, as_text
from simulator.world import Resource, World

GROUPS: Final = "Microsoft.Resources/resourceGroups"
ONE_CLOUD_SINCE: Final = "2022-09-01"
"""From this version on ``/metadata/endpoints`` tells of its own cloud alone, before of all."""
KUBERNETES: Final = {
    "1.32": ("1.32.6", "1.32.7"),
    "1.33": ("1.33.2", "1.33.3"),
    "1.34": ("1.34.0", "1.34.1"),
}
"""Patch versions that AKS offers, by minor version; the last is the newest."""
DEFAULT_KUBERNETES: Final = "1.33"
UNLISTED: Final = ("Microsoft.Resources/", "Microsoft.Authorization/")
"""Namespaces whose resources ``/resources`` does not tell: they are none of a group's."""


def public(world: World, request: Request) -> Response | None:
    """The answer to a call that needs no token; None if it is no such call."""
    if [part.lower() for part in request.segments] != ["metadata", "endpoints"]:
        return None
    own = _endpoints(world)
    version = request.query.get("api-version", "")
    return Response(200, own if version >= ONE_CLOUD_SINCE else [own])


def answer(
    world: World, request: Request, principal: str, kinds: Sequence[ResourceType]
) -> Response | None:
    """The answer to a call of this kind; None if it is another's."""
    path = request.segments
    lower = [part.lower() for part in path]
    if len(lower) < 3 or lower[0] != "subscriptions" or request.method != "GET":
        return None
    match lower[2:]:
        case ["locations"]:
            return Response(200, {"value": locations.listed(path[1])})
        case ["providers"]:
            shown = [_provider(world, path[1], name, kinds) for name in NAMESPACES]
            return Response(200, {"value": shown})
        case ["providers", namespace]:
            known = known_namespace(namespace)
            return Response(200, _provider(world, path[1], known, kinds))
        case ["resources"]:
            return _resources(world, request, principal, f"/subscriptions/{path[1]}", kinds)
        case ["resourcegroups", group, "resources"]:
            scope = group_id(path[1], group)
            if world.get(scope) is None:
                raise group_not_found(path[3])
            return _resources(world, request, principal, scope, kinds)
        case [
            "providers",
            "microsoft.containerservice",
            "locations",
            _,
            "kubernetesversions",
        ]:
            return Response(200, {"values": [_kubernetes(minor) for minor in KUBERNETES]})
        case [*_, "providers", "microsoft.alertsmanagement", "alertrulerecommendations"]:
            scope = parse(tuple(path[:-3]))
            if scope is None:
                return None
            if world.get(scope.text) is None:
                raise not_found(scope.type, scope.name, scope.group)
            return Response(200, {"value": [_recommended_rules()]})
        case _:
            return None


def _recommended_rules() -> JsonObject:
    """The first of the rule groups that the Azure CLI makes with the metrics add-on.

    Of 2023-01-01-preview, for which there is no published model: the members are those that
    azure-cli 2.91 reads (``azuremonitormetrics/recordingrules/create.py``), the rule is one of
    Microsoft's page on default Prometheus metrics in Azure Monitor.
    """
    kind = "Microsoft.AlertsManagement/prometheusRuleGroups"
    rule: JsonObject = {
        "record": "instance:node_num_cpu:sum",
        "expression": 'count without (cpu, mode) (node_cpu_seconds_total{job="node",mode="idle"})',
    }
    template: JsonObject = {"resources": [{"type": kind, "properties": {"rules": [rule]}}]}
    return {
        "name": "NodeRecordingRulesRuleGroup",
        "type": "Microsoft.AlertsManagement/alertRuleRecommendations",
        "properties": {"alertRuleType": kind, "rulesArmTemplate": template},
    }


def _endpoints(world: World) -> JsonObject:
    """This cloud's addresses: ARM's is the simulator's, what else there is is nowhere."""
    return {
        "name": "AzureCloud",
        "portal": "https://portal.azure.com",
        "authentication": {
            "loginEndpoint": "https://login.microsoftonline.com",
            "audiences": [f"{item}/" for item in sorted(ARM_AUDIENCES, reverse=True)],
            "tenant": "common",
            "identityProvider": "AAD",
        },
        "resourceManager": world.arm_url,
        "gallery": "https://gallery.azure.com/",
        "graphAudience": "https://graph.windows.net/",
        "microsoftGraphResourceId": "https://graph.microsoft.com/",
        "batch": "https://batch.core.windows.net/",
        "media": "https://rest.media.azure.net",
        "sqlManagement": "https://management.core.windows.net:8443/",
        "activeDirectoryDataLake": "https://datalake.azure.net/",
        "logAnalyticsResourceId": "https://api.loganalytics.io",
        "vmImageAliasDoc": "https://raw.githubusercontent.com/Azure/azure-rest-api-specs/main/"
        "arm-compute/quickstart-templates/aliases.json",
        "suffixes": {
            "acrLoginServer": "azurecr.io",
            "keyVaultDns": "vault.azure.net",
            "sqlServerHostname": "database.windows.net",
            "storage": "core.windows.net",
        },
    }


def _provider(
    world: World, subscription: str, namespace: str, kinds: Sequence[ResourceType]
) -> JsonObject:
    return {
        "id": f"/subscriptions/{subscription}/providers/{namespace}",
        "namespace": namespace,
        "registrationPolicy": "RegistrationRequired",
        "registrationState": world.registrations.get(namespace, "NotRegistered"),
        "resourceTypes": [
            _type(kind) for kind in kinds if kind.type.partition("/")[0] == namespace
        ],
    }


def _type(kind: ResourceType) -> JsonObject:
    versions = sorted(kind.versions, reverse=True)
    stable = [item for item in versions if "preview" not in item]
    regional = kind.tracked and kind.type != GROUPS
    shown = [display for display, _ in locations.REGIONS.values()] if regional else []
    return {
        "resourceType": kind.type.partition("/")[2],
        "locations": shown,
        "apiVersions": versions,
        "defaultApiVersion": (stable or versions)[0],
        "capabilities": "SupportsTags, SupportsLocation" if regional else "None",
    }


def _resources(
    world: World, request: Request, principal: str, scope: str, kinds: Sequence[ResourceType]
) -> Response:
    """The resources below a scope that the caller may read, without their properties.

    ``$filter`` is understood as ``resourceType``, ``name``, ``location`` and ``resourceGroup``
    with ``eq '...'``, joined by ``and``.
    """
    wanted = dict(_conditions(request.query.get("$filter", "")))
    unknown = wanted.keys() - {"resourcetype", "name", "location", "resourcegroup"}
    if unknown:
        raise ArmError(
            400, "InvalidFilterInQueryString", f"Invalid $filter: {', '.join(sorted(unknown))}."
        )
    if not roles.may(world, principal, "Microsoft.Resources/subscriptions/resources/read", scope):
        raise forbidden(principal, "Microsoft.Resources/subscriptions/resources/read", scope)
    known = {kind.type.lower(): kind for kind in kinds}
    found: list[JsonObject] = []
    for key, item in sorted(world.resources.items()):
        kind = known.get(item.type.lower())
        if kind is None or not key.startswith(scope.lower() + "/"):
            continue
        if not _is_listed(item) or not _matches(item, wanted):
            continue
        shown = kind.wire(item)
        listed = ("id", "name", "type", "location", "tags", "kind", "sku", "identity")
        found.append({name: shown[name] for name in listed if name in shown})
    return Response(200, {"value": found})


def _conditions(text: str) -> list[tuple[str, str]]:
    parts = re.split(r"\s+and\s+", text.strip(), flags=re.IGNORECASE) if text.strip() else []
    found: list[tuple[str, str]] = []
    for part in parts:
        read = re.fullmatch(r"(\w+)\s+eq\s+'([^']*)'", part.strip(), re.IGNORECASE)
        found.append((read[1].lower(), read[2].lower()) if read else (part, ""))
    return found


def _is_listed(item: Resource) -> bool:
    """Whether ARM lists it: nothing that is part of another resource, or extends one."""
    nested = len(item.type.split("/")) > 2 or item.key.count("/providers/") > 1
    return not nested and not item.type.startswith(UNLISTED)


def _matches(item: Resource, wanted: dict[str, str]) -> bool:
    own = {
        "resourcetype": item.type.lower(),
        "name": item.name.lower(),
        "location": as_text(item.body.get("location")).lower(),
        "resourcegroup": group_of(item.key).rpartition("/")[2],
    }
    return all(own[key] == value for key, value in wanted.items())


def _kubernetes(minor: str) -> JsonObject:
    """A minor version as AKS lists it (KubernetesVersion of azure-mgmt-containerservice 41.6)."""
    order = list(KUBERNETES)
    later = [KUBERNETES[item][-1] for item in order[order.index(minor) + 1 :][:1]]
    patches = KUBERNETES[minor]
    upgrades = {
        patch: {"upgrades": [*patches[at + 1 :], *later]} for at, patch in enumerate(patches)
    }
    return {
        "version": minor,
        "isDefault": minor == DEFAULT_KUBERNETES or None,
        "isPreview": None,
        "capabilities": {"supportPlan": ["KubernetesOfficial"]},
        "patchVersions": upgrades,
    }
