"""The rules of section ``pyroscope``: chart, chart values, storage and private link."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

import pytest

from components.private_link import PrivateLinkArgs
from components.pyroscope_disk import DiskArgs
from components.pyroscope_values import owned_values
from tests.unit.stack_files import faults, settings

GUID = "11111111-1111-4111-8111-111111111111"
ANNOTATIONS = "pyroscope.values.pyroscope.service.annotations"
PREFIX = "service.beta.kubernetes.io/"


def nested(path: str, value: object) -> dict[str, object]:
    """``value`` at a dotted path of the chart's values."""
    return cast("dict[str, object]", nested_at(tuple(path.split(".")), value))


def values(path: str, value: object) -> dict[str, object]:
    return {"values": nested(path, value)}


def leaves(value: Mapping[str, object], at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of everything that is no mapping, or an empty one."""
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from leaves(cast("Mapping[str, object]", item), (*at, key))
        else:
            yield (*at, key)


def nested_at(path: tuple[str, ...], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def annotated(key: str, value: object) -> dict[str, object]:
    return {"values": {"pyroscope": {"service": {"annotations": {key: value}}}}}


# --- chart -------------------------------------------------------------------------------------


def test_a_chart_comes_from_one_place() -> None:
    found = faults(pyroscope={"chart": {"oci": "oci://r.example/c", "path": "charts/p"}})

    assert set(found) == {"pyroscope.chart"}


@pytest.mark.parametrize(
    "chart",
    [
        {"oci": "https://ghcr.io/x"},
        {"oci": "oci://ghcr.io/x/pyroscope:1.15.0"},
        {"repository": "oci://ghcr.io/x"},
        {"repository": "https://me:pw@charts.example.com"},
        {"path": "/home/me/chart"},
        {"path": "oci://ghcr.io/x"},
        {"version": "latest"},
        {"version": ">=1.15"},
        {"version": 1.15},
        {"name": "pyroscope"},
    ],
)
def test_a_chart_source_that_cannot_work_everywhere_is_refused(chart: dict[str, object]) -> None:
    assert set(faults(pyroscope={"chart": chart})) == {f"pyroscope.chart.{next(iter(chart))}"}


@pytest.mark.parametrize(
    "chart",
    [
        {},
        {"oci": "oci://registry.example.com:5000/mirror/pyroscope", "version": "1.15.1"},
        {"repository": "https://grafana.github.io/helm-charts", "name": "pyroscope"},
        {"path": "simulator/charts/pyroscope"},
        {"path": "./charts/pyroscope-1.15.0.tgz"},
    ],
)
def test_a_chart_comes_from_a_registry_a_repository_or_the_project(
    chart: dict[str, object],
) -> None:
    assert not faults(pyroscope={"chart": chart})


@pytest.mark.handles("incompatible-server")
@pytest.mark.parametrize("tag", ["1.20.0", "2.1.0", "latest", "1.14.1", "v1.15.0", "main-abc123"])
def test_a_server_that_does_not_understand_the_agent_is_refused_with_the_reason(tag: str) -> None:
    found = faults(pyroscope={"imageTag": tag})

    assert set(found) == {"pyroscope.imageTag"}
    assert "flame graph stays empty" in found["pyroscope.imageTag"].why
    assert "allowIncompatibleServer" in found["pyroscope.imageTag"].fix


@pytest.mark.handles("incompatible-server")
def test_the_override_of_the_compatibility_contract_takes_any_version() -> None:
    versions = {"imageTag": "2.1.0", "chart": {"version": "2.0.2"}}

    assert set(faults(pyroscope=versions)) == {"pyroscope.imageTag", "pyroscope.chart.version"}
    assert not faults(pyroscope={**versions, "allowIncompatibleServer": True})


def test_an_agent_older_than_the_encoding_is_refused() -> None:
    found = faults(inspektorGadget={"version": "0.48.1", "autoUpgrade": False})

    assert set(found) == {"inspektorGadget.version"}


# --- chart values ------------------------------------------------------------------------------


def test_every_value_that_the_component_sets_is_refused() -> None:
    everything = owned_values(
        image_tag="1.15.0",
        annotations=PrivateLinkArgs(
            id="/subscriptions/s",
            name="link",
            visibility=["*"],
            auto_approval=[GUID],
            resource_group="rg",
            subnet="links",
            address_count=1,
            addresses=["10.0.0.1"],
            fqdns=["a.example.com"],
        ).annotations,
        resources={"limits": {}},
        node_selector={"a": "b"},
        tolerations=[{"key": "a"}],
        affinity={"nodeAffinity": {}},
        disk=DiskArgs(size="50Gi", storage_class_name="managed-csi"),
    )
    given = set(leaves(everything))

    for path in given:
        refused = faults(pyroscope={"values": nested_at(path, "x")})
        assert any("product's own" in fault.rule for fault in refused.values()), path
    assert len(given) > 20


@pytest.mark.handles("filesystem-with-replicas")
def test_a_second_replica_is_refused() -> None:
    found = faults(
        pyroscope={"storage": {"disk": {}}, **values("pyroscope.replicaCount", 2)},
    )

    assert set(found) == {"pyroscope.values.pyroscope.replicaCount"}


@pytest.mark.parametrize(
    ("path", "setting"),
    [
        ("pyroscope.image.tag", "imageTag"),
        ("pyroscope.resources", "resources"),
        ("pyroscope.persistence", "storage"),
        ("pyroscope.structuredConfig.storage", "storage"),
        ("pyroscope.nodeSelector", "nodeSelector"),
    ],
)
def test_an_owned_value_is_answered_with_the_setting_to_use(path: str, setting: str) -> None:
    found = faults(pyroscope=values(path, {}))[f"pyroscope.values.{path}"]

    assert found.fix.startswith(f"set it in gpuobs:pyroscope: `{setting}")


@pytest.mark.parametrize(
    "path", ["pyroscope", "pyroscope.service", "pyroscope.structuredConfig", "alloy"]
)
def test_nothing_that_holds_owned_values_can_be_emptied(path: str) -> None:
    assert f"pyroscope.values.{path}" in faults(pyroscope=values(path, None))


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("resources", "pyroscope.resources"),
        ("pyrosope", "pyroscope"),
        ("pyroscope.podLabels", "extraLabels"),
        ("pyroscope.extraLabel", "extraLabels"),
        ("pyroscope.podAnotations", "podAnnotations"),
        ("pyroscope.structuredConfigs", "structuredConfig"),
    ],
)
def test_a_misspelled_chart_value_is_refused_with_the_nearest_right_one(
    path: str, nearest: str
) -> None:
    found = faults(pyroscope=values(path, {}))[f"pyroscope.values.{path}"]

    assert found.fix == f"did you mean `{nearest}`?"


def test_the_dots_of_helms_set_are_refused() -> None:
    found = faults(pyroscope={"values": {"pyroscope.replicaCount": 1}})

    assert "nested keys" in found["pyroscope.values.pyroscope.replicaCount"].fix


@pytest.mark.parametrize(
    "path",
    [
        "pyroscope.extraLabels.team",
        "pyroscope.serviceAccount.name",
        "pyroscope.image.repository",
        "pyroscope.terminationGracePeriodSeconds",
        "pyroscope.structuredConfig.pyroscopedb.max_block_duration",
        "pyroscope.structuredConfig.limits.max_query_lookback",
        "serviceMonitor.enabled",
    ],
)
def test_other_chart_values_are_taken(path: str) -> None:
    assert not faults(pyroscope=values(path, "x"))


@pytest.mark.handles("retention-without-bucket")
@pytest.mark.parametrize(
    "path",
    [
        "retention_enabled",
        "retention",
        "retention_period",
        "limits.retention_period",
        "limits.compactor_blocks_retention_period",
        "compactor_blocks_retention_period",
    ],
)
def test_retention_is_refused_with_what_works(path: str) -> None:
    path = f"pyroscope.structuredConfig.{path}"
    found = faults(pyroscope=values(path, "7d"))

    assert set(found) == {f"pyroscope.values.{path}"}


@pytest.mark.handles("retention-without-bucket")
def test_retention_for_ever_needs_no_bucket() -> None:
    path = "pyroscope.structuredConfig.limits.compactor_blocks_retention_period"

    assert not faults(pyroscope=values(path, 0))


IGNORED_BY_1_15_0 = [
    "pyroscope.image.registry",
    "pyroscope.image.digest",
    "global.imageRegistry",
    "pyroscope.extraContainers",
    "pyroscope.livenessProbe",
    "pyroscope.updateStrategy",
    "pyroscope.service.loadBalancerIP",
    "pyroscope.service.externalTrafficPolicy",
    "pyroscope.rbac.create",
    "httpRoute.enabled",
    "pyroscope.name",
    "fullnameOverride",
]
"""As rendered with the published chart."""


@pytest.mark.parametrize("path", IGNORED_BY_1_15_0)
def test_a_value_that_the_chosen_chart_ignores_is_refused_by_its_path(path: str) -> None:
    found = faults(pyroscope=values(path, "x"))
    (at,) = found

    assert f"pyroscope.values.{path}".startswith(at)
    assert "the Pyroscope chart 1.15.0 reads" in found[at].rule


@pytest.mark.parametrize(
    ("path", "chart"),
    [
        ("pyroscope.image.registry", "1.19.2"),
        ("global.imageRegistry", "1.19.2"),
        ("pyroscope.extraContainers", "1.18.1"),
        ("httpRoute.enabled", "1.21.0"),
        ("pyroscope.rbac.create", "1.21.0"),
    ],
)
def test_what_a_later_chart_reads_is_taken_there_and_named_before(path: str, chart: str) -> None:
    assert not faults(pyroscope={"chart": {"version": chart}, **values(path, "x")})
    (found,) = faults(pyroscope=values(path, "x")).values()
    assert "which is the first to read it" in found.fix


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("shutdown_delay", "5s"),
        ("symbolizer.enabled", True),
        ("tenant_settings.recording_rules.enabled", True),
        ("metastore.anything", 1),
        ("limits.max_query_length", "0s"),
        ("limits.distributor_usage_groups.a", "{}"),
        ("frontend.scheduler_address", "x"),
        ("server.http_server_write_timeout", "5m"),
        ("pyroscopedb.max_block_duration", "30m"),
    ],
)
def test_a_configuration_key_that_the_server_knows_is_taken(path: str, value: object) -> None:
    assert not faults(pyroscope=values(f"pyroscope.structuredConfig.{path}", value))


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("limits.max_query_lenght", "max_query_length"),
        ("pyroscopedb.max_block_durations", "max_block_duration"),
        ("server.http_server_write_timout", "http_server_write_timeout"),
        ("ingester.lifecycler.ring.kvstore.stor", "store"),
    ],
)
def test_a_misspelled_configuration_key_is_refused_at_any_depth(path: str, nearest: str) -> None:
    at = f"pyroscope.structuredConfig.{path}"
    found = faults(pyroscope=values(at, 1))

    assert set(found) == {f"pyroscope.values.{at}"}
    assert found[f"pyroscope.values.{at}"].fix == f"did you mean `{nearest}`?"


CONFIG_TEXT = "pyroscope.config"
BY_EVERY_WAY = {
    "storage": [
        (CONFIG_TEXT, "storage: {backend: s3}"),
        ("pyroscope.structuredConfig.storage.backend", "s3"),
        ("pyroscope.extraArgs.storage\\.backend", "s3"),
        ("pyroscope.extraArgs.-storage\\.azure\\.account-name", "x"),
    ],
    "a tenant": [
        (CONFIG_TEXT, "multitenancy_enabled: true"),
        ("pyroscope.structuredConfig.multitenancy_enabled", True),
        ("pyroscope.extraArgs.auth\\.multitenancy-enabled", True),
    ],
    "the server's own profiles": [
        (CONFIG_TEXT, "self_profiling: {disable_push: false}"),
        ("pyroscope.structuredConfig.self_profiling.disable_push", False),
        ("pyroscope.extraArgs.self-profiling\\.disable-push", False),
        ("pyroscope.disableSelfProfile", False),
    ],
    "the port": [
        (CONFIG_TEXT, "server: {http_listen_port: 1}"),
        ("pyroscope.structuredConfig.server.http_listen_port", 1),
        ("pyroscope.extraArgs.server\\.http-listen-port", 1),
        ("pyroscope.service.port", 1),
    ],
    "the address": [
        ("pyroscope.structuredConfig.server.http_listen_address", "127.0.0.1"),
        ("pyroscope.extraArgs.server\\.http-listen-address", "127.0.0.1"),
        ("pyroscope.extraArgs.server\\.http-tls-cert-path", "x"),
        ("pyroscope.service.scheme", "HTTPS"),
        ("pyroscope.hostNetwork", True),
    ],
    "one server": [
        (CONFIG_TEXT, "target: querier"),
        ("pyroscope.structuredConfig.target", "querier"),
        ("pyroscope.extraArgs.target", "querier"),
        ("pyroscope.extraArgs.target=querier", ""),
        ("pyroscope.autoscaling.enabled", True),
        ("pyroscope.extraEnvVars.PYROSCOPE_V2", "1"),
    ],
    "retention": [
        (CONFIG_TEXT, "limits: {compactor_blocks_retention_period: 7d}"),
        ("pyroscope.structuredConfig.limits.compactor_blocks_retention_period", "7d"),
        ("pyroscope.extraArgs.compactor\\.blocks-retention-period", "7d"),
        ("pyroscope.tenantOverrides.anonymous.compactor_blocks_retention_period", "7d"),
    ],
    "other collectors": [("agent.enabled", True), ("alloy.enabled", True), ("minio.enabled", True)],
    "another configuration": [
        ("pyroscope.extraArgs.config\\.file", "/x"),
        (CONFIG_TEXT, "{{ .Values.mine }}"),
        (CONFIG_TEXT, "just a text"),
    ],
}
"""What the product decides, and the values that would decide otherwise; ``\\.`` is a key's dot."""


@pytest.mark.parametrize(("path", "value"), [way for ways in BY_EVERY_WAY.values() for way in ways])
def test_what_the_product_decides_is_refused_by_every_way_that_leads_to_it(
    path: str, value: object
) -> None:
    keys = tuple(key.replace("\0", ".") for key in path.replace("\\.", "\0").split("."))
    found = faults(pyroscope={"values": nested_at(keys, value)})

    assert found, path
    assert all(
        f"pyroscope.values.{'.'.join(keys)}".startswith(at[:-1]) or CONFIG_TEXT in at
        for at in found
    )


def test_a_variable_that_changes_the_servers_storage_is_refused_in_a_list_too() -> None:
    given = {"pyroscope": {"extraCustomEnvVars": [{"name": "PYROSCOPE_V2", "value": "1"}]}}
    found = faults(pyroscope={"chart": {"version": "1.19.2"}, "values": given})

    assert set(found) == {"pyroscope.values.pyroscope.extraCustomEnvVars[0]"}


@pytest.mark.parametrize("flag", ["querier.max-query-lenght", "no.such.flag"])
def test_a_flag_on_which_the_server_stops_is_refused(flag: str) -> None:
    found = faults(pyroscope={"values": {"pyroscope": {"extraArgs": {flag: "1"}}}})

    assert set(found) == {f"pyroscope.values.pyroscope.extraArgs.{flag}"}


def test_a_configuration_that_is_a_text_is_checked_key_by_key() -> None:
    text = "limits:\n  max_query_lenght: 1d\nshutdown_delay: 1s\n"
    found = faults(pyroscope=values(CONFIG_TEXT, text))

    assert set(found) == {f"pyroscope.values.{CONFIG_TEXT}.limits.max_query_lenght"}
    assert not faults(pyroscope=values(CONFIG_TEXT, "shutdown_delay: 1s"))


@pytest.mark.parametrize(
    "lowered",
    [
        (CONFIG_TEXT, "pyroscopedb: {min_free_disk_gb: 1}"),
        ("pyroscope.structuredConfig.pyroscopedb.min_free_disk_gb", 1),
    ],
)
def test_the_rule_on_free_space_may_be_lowered_by_either_configuration(
    lowered: tuple[str, object],
) -> None:
    disk = {"storage": {"disk": {"size": "10Gi"}}}

    assert not faults(pyroscope={**disk, **values(*lowered)})


def test_a_null_is_taken_for_a_value_that_the_chart_shall_not_have() -> None:
    path = "pyroscope.podSecurityContext.fsGroup"
    taken = settings(pyroscope=values(path, None)).pyroscope.values

    assert taken == nested(path, None)


@pytest.mark.parametrize("key", ["retentionEnabled", "memberslist", "unknown", "storageBackend"])
def test_a_configuration_key_on_which_the_server_stops_is_refused(key: str) -> None:
    path = f"pyroscope.structuredConfig.{key}"

    assert set(faults(pyroscope=values(path, 1))) == {f"pyroscope.values.{path}"}


def test_several_tenants_are_refused() -> None:
    path = "pyroscope.structuredConfig.multitenancy_enabled"

    assert set(faults(pyroscope=values(path, True))) == {f"pyroscope.values.{path}"}


@pytest.mark.handles("annotation-boolean")
def test_booleans_and_numbers_in_annotations_and_labels_become_texts() -> None:
    given = {
        "pyroscope": {
            "service": {"annotations": {f"{PREFIX}azure-load-balancer-disable-tcp-reset": True}},
            "podAnnotations": {"prometheus.io/port": 4040},
            "extraLabels": {"azure.workload.identity/use": True},
            "extraArgs": {"log.level": "warn", "tracing.enabled": True},
        }
    }
    taken = settings(pyroscope={"values": given}).pyroscope.values["pyroscope"]

    assert taken["service"]["annotations"] == {
        f"{PREFIX}azure-load-balancer-disable-tcp-reset": "true"
    }
    assert taken["podAnnotations"] == {"prometheus.io/port": "4040"}
    assert taken["extraLabels"] == {"azure.workload.identity/use": "true"}
    assert taken["extraArgs"]["tracing.enabled"] is True, "no text where Kubernetes takes none"


@pytest.mark.handles("annotation-boolean")
@pytest.mark.parametrize("value", [1.20, None, ["a"], {"a": "b"}])
def test_an_annotation_that_cannot_become_a_text_unchanged_is_refused(value: object) -> None:
    found = faults(pyroscope=values("pyroscope.podAnnotations.version", value))

    assert set(found) == {"pyroscope.values.pyroscope.podAnnotations.version"}


@pytest.mark.handles("proxy-protocol")
@pytest.mark.parametrize("value", [True, "true"])
def test_the_proxy_protocol_is_refused(value: object) -> None:
    key = f"{PREFIX}azure-pls-proxy-protocol"
    found = faults(pyroscope=annotated(key, value))

    assert set(found) == {f"{ANNOTATIONS}.{key}"}
    assert "health probes fail" in found[f"{ANNOTATIONS}.{key}"].fix


@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("azure-pls-name", "name"),
        ("azure-pls-visibility", "visibility"),
        ("azure-pls-auto-approval", "autoApproval"),
        ("azure-pls-resource-group", "resourceGroup"),
        ("azure-pls-ip-configuration-subnet", "subnet"),
        ("azure-pls-ip-configuration-ip-address-count", "addressCount"),
        ("azure-pls-ip-configuration-ip-address", "addresses"),
        ("azure-pls-fqdns", "fqdns"),
    ],
)
def test_a_private_link_annotation_is_answered_with_the_setting_to_use(
    key: str, setting: str
) -> None:
    found = faults(pyroscope=annotated(PREFIX + key, "x"))[f"{ANNOTATIONS}.{PREFIX}{key}"]

    assert f"privateLink: {{ {setting}: " in found.fix


@pytest.mark.handles("misspelled-annotation")
@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        (f"{PREFIX}azure-load-balancer-internal-ipv4", f"{PREFIX}azure-load-balancer-ipv4"),
        (f"{PREFIX}azure-pls-ip-adress-count", "`privateLink: { addressCount: ... }`"),
        (f"{PREFIX}azure-load-balancer-health-probe-path", "azure-load-balancer-health-probe-"),
        ("azure-load-balancer-internal-subnet", f"{PREFIX}azure-load-balancer-internal-subnet"),
        ("service.kubernetes.io/azure-pls-name", "`privateLink: { name: ... }`"),
    ],
)
def test_a_misspelled_azure_annotation_is_refused_with_the_nearest_right_one(
    key: str, nearest: str
) -> None:
    found = faults(pyroscope=annotated(key, "x"))[f"{ANNOTATIONS}.{key}"]

    assert nearest in found.fix


@pytest.mark.parametrize(
    "name",
    [
        "azure-load-balancer-internal",
        "azure-load-balancer-ipv4",
        "azure-load-balancer-ipv6",
        "azure-load-balancer-internal-subnet",
        "azure-pls-create",
        "azure-pls-name",
        "azure-pls-resource-group",
        "azure-pls-ip-configuration-subnet",
        "azure-pls-ip-configuration-ip-address-count",
        "azure-pls-ip-configuration-ip-address",
        "azure-pls-fqdns",
        "azure-pls-visibility",
        "azure-pls-auto-approval",
        "azure-pls-proxy-protocol",
    ],
)
def test_what_is_suggested_for_a_misspelled_annotation_is_never_refused_itself(name: str) -> None:
    for slip in (f"{name}s", name.replace("-", "", 1), name[:-2], f"{name}-x"):
        found = faults(pyroscope=annotated(PREFIX + slip, "x"))
        for fault in found.values():
            for suggested in re.findall(rf"did you mean `({PREFIX}[^`]+)`", fault.fix):
                assert not faults(pyroscope=annotated(suggested, "x")), (slip, suggested)


@pytest.mark.parametrize(
    "key", [f"{PREFIX}azure-load-balancer-internal-subnet", "example.com/team", "plain"]
)
def test_other_annotations_are_taken(key: str) -> None:
    assert not faults(pyroscope=annotated(key, "x"))


# --- scheduling and storage --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"resources": {"cpu": 1}}, "resources.cpu"),
        ({"affinity": {"nodeAfinity": {}}}, "affinity.nodeAfinity"),
        ({"tolerations": [{"keys": "x"}]}, "tolerations[0].keys"),
        ({"tolerations": [{"operator": "exists"}]}, "tolerations[0].operator"),
        ({"tolerations": [{"effect": "NoSchedul"}]}, "tolerations[0].effect"),
        ({"resources": {"limits": {"memory": "4GB"}}}, "resources.limits.memory"),
        ({"resources": {"requests": {"cpu": True}}}, "resources.requests.cpu"),
    ],
)
def test_a_pods_field_that_kubernetes_does_not_know_is_refused(
    section: dict[str, object], path: str
) -> None:
    assert set(faults(pyroscope=section)) == {f"pyroscope.{path}"}


@pytest.mark.parametrize(
    ("size", "taken"),
    [
        ("50Gi", True),
        ("1Ti", True),
        ("54G", True),
        ("49Gi", False),
        ("50G", False),
        ("10Gi", False),
    ],
)
def test_a_disk_that_would_lose_blocks_early_is_refused(size: str, taken: bool) -> None:
    found = faults(pyroscope={"storage": {"disk": {"size": size}}})

    assert set(found) == (set() if taken else {"pyroscope.storage.disk.size"})


def test_a_small_disk_is_taken_with_a_lower_rule_on_free_space() -> None:
    lowered = values("pyroscope.structuredConfig.pyroscopedb.min_free_disk_gb", 1)

    assert not faults(pyroscope={"storage": {"disk": {"size": "10Gi"}}, **lowered})


def test_scheduling_as_in_a_pod_is_taken_with_texts_where_kubernetes_wants_them() -> None:
    server = settings(
        pyroscope={
            "resources": {"requests": {"cpu": 2, "memory": "4Gi"}, "limits": {"cpu": "2500m"}},
            "tolerations": [{"key": "dedicated", "value": True, "effect": "NoSchedule"}],
            "nodeSelector": {"system": True},
        }
    ).pyroscope

    assert server.resources["requests"]["cpu"] == 2
    assert server.tolerations[0]["value"] == "true"
    assert server.node_selector == {"system": "true"}


@pytest.mark.parametrize("size", ["50", "50GB", "lots", ""])
def test_a_disks_size_has_a_unit(size: str) -> None:
    found = faults(pyroscope={"storage": {"disk": {"size": size}}})

    assert set(found) == {"pyroscope.storage.disk.size"}


# --- private link ------------------------------------------------------------------------------


@pytest.mark.handles("link-name")
@pytest.mark.parametrize("name", ["x" * 81, "a b", "a/b", "a:b", "-a", "a-", ""])
def test_a_private_links_name_that_azure_refuses_is_refused(name: str) -> None:
    assert set(faults(pyroscope={"privateLink": {"name": name}})) == {"pyroscope.privateLink.name"}


@pytest.mark.handles("link-name")
@pytest.mark.parametrize("name", ["x" * 80, "pyroscope-pls", "a", "a.b_c-d_"])
def test_a_private_links_name_within_the_rule_is_taken(name: str) -> None:
    assert not faults(pyroscope={"privateLink": {"name": name}})


@pytest.mark.handles("auto-approval-visibility")
@pytest.mark.parametrize("visibility", [[GUID], []])
def test_auto_approval_needs_visibility_to_all(visibility: list[str]) -> None:
    found = faults(
        pyroscope={"privateLink": {"visibility": visibility, "autoApproval": [GUID]}},
    )

    assert "pyroscope.privateLink.autoApproval" in found


def test_auto_approval_with_visibility_to_all_is_taken() -> None:
    assert not faults(pyroscope={"privateLink": {"autoApproval": [GUID]}})


@pytest.mark.parametrize("value", [f"{GUID},{GUID}", f"/subscriptions/{GUID}", "*", "mine"])
def test_an_entry_that_silently_matches_no_subscription_is_refused(value: str) -> None:
    found = faults(pyroscope={"privateLink": {"autoApproval": [value]}})

    assert set(found) == {"pyroscope.privateLink.autoApproval[0]"}


@pytest.mark.parametrize("value", [f"{GUID} {GUID}", f"/subscriptions/{GUID}", "all"])
def test_visibility_is_to_all_or_to_subscriptions(value: str) -> None:
    found = faults(pyroscope={"privateLink": {"visibility": [value]}})

    assert set(found) == {"pyroscope.privateLink.visibility[0]"}


@pytest.mark.parametrize("visibility", [[], ["*", GUID]])
def test_a_visibility_that_means_nothing_is_refused(visibility: list[str]) -> None:
    found = faults(pyroscope={"privateLink": {"visibility": visibility}})

    assert set(found) == {"pyroscope.privateLink.visibility"}


@pytest.mark.parametrize(
    ("link", "path"),
    [
        ({"addressCount": 0}, "addressCount"),
        ({"addressCount": 9}, "addressCount"),
        ({"addresses": ["10.0.0.1", "10.0.0.2"]}, "addresses"),
        ({"addressCount": 2, "addresses": ["10.0.0.1", "10.0.0.1"]}, "addresses"),
        ({"addresses": ["10.0.0.256"]}, "addresses[0]"),
        ({"addresses": ["10.0.0.1."]}, "addresses[0]"),
        ({"addresses": ["fd00::1"]}, "addresses[0]"),
        ({"addresses": ["10.0.0.0/24"]}, "addresses[0]"),
        ({"subnet": f"/subscriptions/{GUID}/x/subnets/s"}, "subnet"),
        ({"fqdns": ["https://pyroscope.example.com"]}, "fqdns[0]"),
        ({"fqdns": ["pyroscope"]}, "fqdns[0]"),
        ({"resourceGroup": "a/b"}, "resourceGroup"),
    ],
)
def test_a_private_link_that_azure_refuses_is_refused(link: dict[str, object], path: str) -> None:
    assert set(faults(pyroscope={"privateLink": link})) == {f"pyroscope.privateLink.{path}"}


def test_a_private_link_may_be_placed_and_addressed() -> None:
    link = {
        "resourceGroup": "rg-links",
        "subnet": "links",
        "addressCount": 8,
        "addresses": ["10.224.0.40", "10.224.0.41"],
        "fqdns": ["pyroscope.example.com"],
    }

    assert not faults(pyroscope={"privateLink": link})
