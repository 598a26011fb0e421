"""Pyroscope's guard, release and wait, and the values of its chart."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.chart import ChartArgs
from components.private_link import OwnEndpointArgs, PrivateLinkArgs
from components.pyroscope import Pyroscope, PyroscopeArgs
from components.pyroscope_disk import DiskArgs
from components.pyroscope_values import merged, owned_values
from contract.messages.base import Verb, command_line
from infra.settings.published_values import Tree, chart_values
from tests.unit import answers
from tests.unit.recording import Recorded, record

RELEASE = "kubernetes:helm.sh/v3:Release"
GUARD, READY = "pyroscope-private-link-guard", "pyroscope-private-link-ready"
PREFIX = "service.beta.kubernetes.io/"
LINK_ID = f"{answers.group('MC_rg')}/providers/Microsoft.Network/privateLinkServices/pls"
LINK = PrivateLinkArgs(id=LINK_ID, name="pls", visibility=["*"])
ARGS = PyroscopeArgs(
    namespace="gadget",
    chart=ChartArgs(chart="oci://registry.example/pyroscope", version="1.15.0"),
    image_tag="1.15.0",
    private_link=LINK,
)
CHARTS = ("1.15.0", "1.15.1", "1.16.0", "1.17.0", "1.18.1", "1.19.2", "1.20.3", "1.21.0")


def deploy(**changes: Any) -> Recorded:
    def program() -> None:
        provider = kubernetes.Provider("kubernetes", kubeconfig="")
        opts = pulumi.ResourceOptions(providers=[provider])
        Pyroscope("pyroscope", replace(ARGS, **changes), opts)

    return record(program, answer_resource=answers.Azure().resource)


def unread(given: Mapping[str, object], tree: Tree) -> Iterator[str]:
    """The keys of values that a chart does not read."""
    for key, value in given.items():
        if key not in tree:
            yield key
        elif (below := tree[key]) is not None and isinstance(value, Mapping):
            yield from unread(cast("Mapping[str, object]", value), below)


def values(**changes: Any) -> dict[str, Any]:
    return deploy(**changes).only(RELEASE).inputs["values"]


def test_the_agent_finds_the_release_by_its_fixed_name_and_port() -> None:
    release = deploy().only(RELEASE)
    assert release.parent == "pyroscope"
    assert release.provider == "kubernetes"
    assert release.inputs["name"] == "pyroscope"
    assert release.inputs["namespace"] == "gadget"
    assert release.inputs["values"]["pyroscope"]["service"]["port"] == 4040
    assert release.inputs["values"]["pyroscope"]["service"]["type"] == "LoadBalancer"


def test_helm_waits_long_enough_for_a_load_balancer_and_says_what_it_waited_for() -> None:
    release = deploy().only(RELEASE).inputs
    assert release["timeout"] == 900
    assert release["skipAwait"] is False
    assert release["atomic"] is False


def test_a_failed_release_is_removed_and_installed_again() -> None:
    release = deploy().only(RELEASE)
    assert release.replace_on_changes == {"#initerror"}
    assert release.delete_before_replace


def test_a_disk_that_comes_goes_or_changes_replaces_the_release() -> None:
    triggers = [
        deploy(**changes).only(RELEASE).replacement_trigger
        for changes in (
            {},
            {"disk": DiskArgs(size="50Gi")},
            {"disk": DiskArgs(size="100Gi")},
            {"disk": DiskArgs(size="50Gi", storage_class_name="managed-premium")},
        )
    ]
    assert len({str(trigger) for trigger in triggers}) == 4
    # An empty one would be none, and the change from or to it unseen.
    assert all(triggers)
    other = deploy(image_tag="1.16.0", resources={"limits": {"memory": "4Gi"}}).only(RELEASE)
    assert other.replacement_trigger == triggers[0]


@pytest.mark.parametrize(
    ("chart", "expected"),
    [
        (
            ChartArgs(chart="oci://a/b", version="1.15.0"),
            {"chart": "oci://a/b", "version": "1.15.0"},
        ),
        (
            ChartArgs(chart="pyroscope", repository="https://charts.example", version="1.15.0"),
            {
                "chart": "pyroscope",
                "version": "1.15.0",
                "repositoryOpts": {"repo": "https://charts.example"},
            },
        ),
        (ChartArgs(chart="charts/pyroscope"), {"chart": "charts/pyroscope"}),
    ],
)
def test_the_chart_comes_from_a_registry_a_repository_or_the_project(
    chart: ChartArgs, expected: dict[str, object]
) -> None:
    inputs = deploy(chart=chart).only(RELEASE).inputs
    found = {key: inputs.get(key) for key in ("chart", "version", "repositoryOpts")}
    assert {key: value for key, value in found.items() if value is not None} == expected


def test_the_guard_does_nothing_when_made_and_waits_when_deleted() -> None:
    guard = deploy().named(GUARD).inputs
    assert guard["create"] == guard["update"] == command_line(Verb.HOLD_PRIVATE_LINK)
    assert guard["delete"] == command_line(Verb.AWAIT_PRIVATE_LINK_GONE)
    assert guard["triggers"] == [LINK_ID, "pyroscope", "gadget"]
    assert json.loads(guard["stdin"]) == {
        "id": LINK_ID,
        "namespace": "gadget",
        "release": "pyroscope",
    }
    assert "environment" not in guard


def test_the_private_links_id_is_known_only_after_the_wait() -> None:
    recorded = deploy()
    ready = recorded.named(READY)
    assert ready.inputs["create"] == command_line(Verb.AWAIT_PRIVATE_LINK)
    # Before the release goes, others may still be connected.
    assert ready.inputs["delete"] == command_line(Verb.AWAIT_PRIVATE_LINK_UNUSED)
    assert ready.delete_before_replace
    assert {"pyroscope-release", GUARD} <= ready.depends_on
    assert recorded.outputs["pyroscope"]["privateLinkId"] == LINK_ID


def test_the_wait_is_told_whose_connection_is_the_stacks_own_and_the_guard_is_not() -> None:
    own = OwnEndpointArgs(workspace="graf", name="p-dev", request_message="gpuobs a b 0123abcd")
    recorded = deploy(private_link=replace(LINK, own_endpoint=own, protect_connections=False))
    identity = {"id": LINK_ID, "namespace": "gadget", "release": "pyroscope"}
    assert json.loads(recorded.named(READY).inputs["stdin"]) == {
        **identity,
        "ownEndpoint": {
            "workspace": "graf",
            "name": "p-dev",
            "requestMessage": "gpuobs a b 0123abcd",
        },
        "protectConnections": False,
    }
    assert json.loads(recorded.named(GUARD).inputs["stdin"]) == identity


def test_the_url_names_the_service_rather_than_an_address() -> None:
    assert deploy().outputs["pyroscope"]["url"] == "http://pyroscope.gadget.svc:4040"


# --- values ------------------------------------------------------------------------------------


def test_every_value_is_a_path_that_the_chart_knows() -> None:
    variants: list[dict[str, object]] = [
        {},
        {"disk": DiskArgs(size="50Gi", storage_class_name="managed-premium")},
        {
            "resources": {"requests": {"cpu": "1"}},
            "node_selector": {"a": "b"},
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
        },
    ]
    for changes in variants:
        for chart in CHARTS:
            tree = chart_values(chart)
            assert tree is not None
            assert not list(unread(values(**changes), tree)), chart


def test_the_private_link_is_asked_for_by_annotations_that_are_texts() -> None:
    link = PrivateLinkArgs(
        id=LINK_ID,
        name="pls",
        visibility=["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"],
        auto_approval=["a", "b"],
        resource_group="rg-links",
        subnet="links",
        address_count=2,
        addresses=["10.0.0.5", "10.0.0.6"],
        fqdns=["a.example", "b.example"],
    )
    assert values(private_link=link)["pyroscope"]["service"]["annotations"] == {
        f"{PREFIX}azure-load-balancer-internal": "true",
        f"{PREFIX}azure-pls-create": "true",
        f"{PREFIX}azure-pls-name": "pls",
        f"{PREFIX}azure-pls-proxy-protocol": "false",
        f"{PREFIX}azure-pls-visibility": "11111111-1111-4111-8111-111111111111 "
        "22222222-2222-4222-8222-222222222222",
        f"{PREFIX}azure-pls-auto-approval": "a b",
        f"{PREFIX}azure-pls-resource-group": "rg-links",
        f"{PREFIX}azure-pls-ip-configuration-subnet": "links",
        f"{PREFIX}azure-pls-ip-configuration-ip-address-count": "2",
        f"{PREFIX}azure-pls-ip-configuration-ip-address": "10.0.0.5 10.0.0.6",
        f"{PREFIX}azure-pls-fqdns": "a.example b.example",
    }


def test_what_is_not_asked_for_of_the_private_link_is_not_said() -> None:
    annotations = values()["pyroscope"]["service"]["annotations"]
    assert len(annotations) == 5


@pytest.mark.handles("annotation-boolean")
@pytest.mark.parametrize(
    ("given", "text"), [(True, "true"), (False, "false"), (8, "8"), (8.0, "8"), ("x", "x")]
)
def test_annotations_of_ones_own_become_texts_beside_the_products(given: object, text: str) -> None:
    extra = {"pyroscope": {"service": {"annotations": {"example.com/a": given}}}}
    annotations = values(values=extra)["pyroscope"]["service"]["annotations"]
    assert annotations["example.com/a"] == text
    assert annotations[f"{PREFIX}azure-pls-create"] == "true"


@pytest.mark.parametrize(
    ("given", "text"),
    [(104857600.0, "104857600"), (104857600, "104857600"), (0.5, "0.5"), (True, "true")],
)
@pytest.mark.parametrize("where", ["extraArgs", "extraEnvVars"])
def test_numbers_on_the_command_line_and_in_variables_are_texts(
    where: str, given: object, text: str
) -> None:
    extra: dict[str, Any] = {
        "pyroscope": {where: {"a": given, "b": {"valueFrom": {"fieldRef": {}}}}}
    }
    found = values(values=extra)["pyroscope"][where]
    assert found["a"] == text
    assert found["b"] == {"valueFrom": {"fieldRef": {}}}


def test_a_null_reaches_helm() -> None:
    extra = {"pyroscope": {"podSecurityContext": {"fsGroup": None}}}
    release = deploy(values=extra).only(RELEASE).inputs
    assert release["values"]["pyroscope"]["podSecurityContext"] == {"fsGroup": None}
    assert release["allowNullValues"] is True
    assert "allowNullValues" not in deploy().only(RELEASE).inputs


def test_an_edit_of_a_chart_in_the_project_changes_the_release() -> None:
    def description(digest: str | None) -> object:
        chart = ChartArgs(chart="charts/pyroscope", digest=digest)
        return deploy(chart=chart).only(RELEASE).inputs.get("description")

    assert description("abc") == "chart abc"
    assert description("abd") != description("abc")
    assert description(None) is None


def test_a_disk_that_grows_keeps_the_template_that_it_was_made_from() -> None:
    made = deploy(disk=DiskArgs(size="50Gi"))
    grown = deploy(disk=DiskArgs(size="50Gi", grown_to="100Gi"))
    assert grown.only(RELEASE).inputs == made.only(RELEASE).inputs
    patch = grown.named("pyroscope-disk")
    assert patch.inputs["metadata"]["name"] == "data-pyroscope-0"
    assert patch.inputs["spec"] == {"resources": {"requests": {"storage": "100Gi"}}}
    assert patch.parent == "pyroscope"
    assert "pyroscope-release" in patch.depends_on


@pytest.mark.handles("filesystem-storage-not-writable")
def test_profiles_are_written_where_the_server_may_write() -> None:
    disk = values(disk=DiskArgs(size="50Gi", storage_class_name="managed-premium"))["pyroscope"]
    assert disk["persistence"] == {
        "enabled": True,
        "size": "50Gi",
        "storageClassName": "managed-premium",
        "accessModes": ["ReadWriteOnce"],
    }
    assert disk["structuredConfig"]["storage"] == {
        "backend": "filesystem",
        "filesystem": {"dir": "/data/shared"},
    }
    ephemeral = values()["pyroscope"]
    assert "persistence" not in ephemeral
    assert "storage" not in ephemeral["structuredConfig"]


def test_the_server_is_quiet_and_keeps_to_itself() -> None:
    pyroscope = values()["pyroscope"]
    assert pyroscope["extraArgs"] == {"log.level": "info"}
    assert pyroscope["structuredConfig"]["analytics"] == {"reporting_enabled": False}
    assert pyroscope["structuredConfig"]["self_profiling"] == {"disable_push": True}
    assert pyroscope["image"] == {"repository": "grafana/pyroscope", "tag": "1.15.0"}
    assert pyroscope["replicaCount"] == 1
    assert values()["alloy"] == values()["minio"] == {"enabled": False}


def test_ones_own_values_are_merged_deeply_over_the_defaults_and_under_what_is_owned() -> None:
    extra = {
        "pyroscope": {
            "image": {"repository": "mirror.example/pyroscope", "tag": "2.0.0"},
            "extraArgs": {"log.level": "debug", "server.http-read-timeout": "1m"},
            "structuredConfig": {"limits": {"max_query_lookback": "2w"}},
            "replicaCount": 3,
        },
        "minio": {"enabled": True},
    }
    found = values(values=extra)
    pyroscope = found["pyroscope"]
    assert pyroscope["image"] == {"repository": "mirror.example/pyroscope", "tag": "1.15.0"}
    assert pyroscope["extraArgs"] == {"log.level": "debug", "server.http-read-timeout": "1m"}
    assert pyroscope["structuredConfig"]["limits"] == {"max_query_lookback": "2w"}
    assert pyroscope["structuredConfig"]["self_profiling"] == {"disable_push": True}
    assert pyroscope["replicaCount"] == 1
    assert found["minio"] == {"enabled": False}


def test_queries_reach_as_far_as_azure_monitors_by_overrides_that_need_no_restart() -> None:
    pyroscope = values()["pyroscope"]
    assert pyroscope["tenantOverrides"] == {
        "anonymous": {"max_query_length": "32d", "max_query_lookback": "32d"}
    }
    assert "limits" not in pyroscope["structuredConfig"]


@pytest.mark.parametrize(
    "own",
    [
        {"structuredConfig": {"limits": {"max_query_lookback": "2w"}}},
        {"extraArgs": {"querier.max-query-lookback": "2w"}},
        {"config": "limits:\n  max_query_lookback: 2w\n"},
    ],
)
def test_a_limit_that_a_stack_file_sets_by_whatever_way_is_not_overridden(
    own: dict[str, object],
) -> None:
    found = values(values={"pyroscope": own})["pyroscope"]["tenantOverrides"]
    assert found == {"anonymous": {"max_query_length": "32d"}}


def test_a_stack_files_own_overrides_win() -> None:
    own = {"tenantOverrides": {"anonymous": {"max_query_length": "7d"}}}
    found = values(values={"pyroscope": own})["pyroscope"]["tenantOverrides"]
    assert found == {"anonymous": {"max_query_length": "7d", "max_query_lookback": "32d"}}


def test_merging_changes_neither_side() -> None:
    extra = {"pyroscope": {"extraArgs": {"a": "b"}}}
    owned = owned_values(image_tag="1.15.0", annotations={"a": "b"})
    before = json.dumps([extra, owned])
    merged(extra, owned)
    assert json.dumps([extra, owned]) == before


def test_the_type_token_never_changes() -> None:
    assert Pyroscope.TYPE == "gpuobs:index:Pyroscope"


def test_the_server_has_requests_limits_and_no_more_rights_than_it_needs() -> None:
    """As Azure Policy's initiatives for pods demand, without a word in the stack file."""
    pyroscope = values()["pyroscope"]
    assert set(pyroscope["resources"]) == {"requests", "limits"}
    assert pyroscope["securityContext"]["allowPrivilegeEscalation"] is False
    assert pyroscope["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("where", ["argument", "values"])
def test_resources_of_ones_own_take_the_place_of_all_of_those(where: str) -> None:
    """A request of one's own could be above a limit of the product's."""
    own = {"requests": {"memory": "16Gi"}}
    given: dict[str, object] = (
        {"resources": own} if where == "argument" else {"values": {"pyroscope": {"resources": own}}}
    )
    assert values(**given)["pyroscope"]["resources"] == own


def test_labels_that_a_policy_demands_are_the_pods_and_values_win() -> None:
    extra = {"pyroscope": {"extraLabels": {"a": "of-the-values", "c": "d"}}}
    found = values(labels={"a": "b", "e": "f"}, values=extra)["pyroscope"]["extraLabels"]
    assert found == {"a": "of-the-values", "c": "d", "e": "f"}
