"""The rules of Azure, Kubernetes and Grafana that are checked before the first resource."""

import pytest

from infra.settings import MigProfile, NewGrafana
from tests.unit.stack_files import CREATED, error, faults, settings

GUID = "11111111-1111-4111-8111-111111111111"
OTHER_GUID = "22222222-2222-4222-8222-222222222222"


# --- azure -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["dev", "/subscriptions/" + GUID, GUID[:-1], GUID + "\n"])
def test_a_subscription_is_named_by_its_guid(value: str) -> None:
    assert set(faults(azure={"subscriptionId": value})) == {"azure.subscriptionId"}


@pytest.mark.parametrize("value", ["West Europe", "WestEurope", "west-europe", ""])
def test_a_region_is_named_as_azure_answers_it(value: str) -> None:
    assert set(faults(azure={"location": value})) == {"azure.location"}


def test_azure_takes_fifty_tags_and_no_more() -> None:
    tags = {f"tag{number}": "x" for number in range(51)}

    assert "azure.tags" in faults(azure={"tags": tags})
    tags.pop("tag50")
    assert settings(azure={"tags": tags}).azure.tags == tags


@pytest.mark.parametrize("name", ["a/b", "a<b", "50%", "", "x" * 513])
def test_a_tags_name_that_azure_refuses_is_refused(name: str) -> None:
    assert "azure.tags" in faults(azure={"tags": {name: "x"}})


def test_a_tags_value_has_at_most_256_characters() -> None:
    assert set(faults(azure={"tags": {"a": "x" * 257}})) == {"azure.tags.a"}
    assert not faults(azure={"tags": {"a": "x" * 256}})


def test_tags_that_differ_in_capitals_only_are_refused() -> None:
    assert set(faults(azure={"tags": {"Owner": "a", "owner": "b"}})) == {"azure.tags"}


@pytest.mark.parametrize("value", [83, 0, "2026-11-30T00:00:00Z"])
def test_a_text_that_yaml_read_as_a_number_or_a_date_is_refused_rather_than_changed(
    value: object,
) -> None:
    found = faults(azure={"tags": {"a": value}}, gpuPool={"labels": {"b": value}})

    assert set(found) == {"azure.tags.a", "gpuPool.labels.b"}
    assert "in quotes" in found["azure.tags.a"].fix


def test_a_date_and_a_number_in_quotes_stay_as_they_are() -> None:
    tags = {"until": "2026-11-30", "cost": "0123"}

    assert settings(azure={"tags": tags}).azure.tags == tags


def test_a_tags_value_may_be_a_boolean_in_yaml() -> None:
    assert settings(azure={"tags": {"shared": True, "cost": "42"}}).azure.tags == {
        "shared": "true",
        "cost": "42",
    }


@pytest.mark.parametrize("name", ["ends.", "a b", "x" * 91, "", "a/b"])
def test_a_resource_groups_name_keeps_azures_rule(name: str) -> None:
    assert set(faults(azure={"resourceGroup": {"name": name}})) == {"azure.resourceGroup.name"}


def test_a_new_cluster_needs_a_resource_group_and_a_region() -> None:
    without_group = {**CREATED, "azure": {"location": "westeurope"}}
    without_region = {**CREATED, "azure": {"resourceGroup": {"name": "rg", "create": True}}}
    existing_group = {**CREATED, "azure": {"resourceGroup": {"name": "rg"}}}

    assert "gpuobs:azure.resourceGroup" in str(error(without_group))
    assert "gpuobs:azure.location" in str(error(without_region))
    assert error(existing_group) is None, "an existing group tells its region"


# --- cluster -----------------------------------------------------------------------------------


def test_a_kubernetes_version_that_yaml_read_as_a_number_is_refused() -> None:
    found = faults(CREATED, cluster={"create": {"kubernetesVersion": 1.30}})

    assert set(found) == {"cluster.create.kubernetesVersion"}


def test_a_new_cluster_makes_its_own_namespace() -> None:
    assert set(faults(CREATED, cluster={"createNamespace": False})) == {"cluster.createNamespace"}


def test_a_node_resource_group_has_at_most_80_characters() -> None:
    found = faults(CREATED, cluster={"create": {"nodeResourceGroup": "x" * 81}})

    assert set(found) == {"cluster.create.nodeResourceGroup"}


# --- gpuPool -----------------------------------------------------------------------------------


@pytest.mark.handles("pool-name")
@pytest.mark.parametrize("name", ["gpu-enabled", "GPUPOOL", "gpupool1234567", "1gpu", "", "gpü"])
def test_a_pools_name_that_aks_refuses_is_refused_with_the_rule(name: str) -> None:
    found = faults(gpuPool={"name": name})

    assert set(found) == {"gpuPool.name"}
    assert "1 to 12 lower-case letters and digits" in found["gpuPool.name"].rule


@pytest.mark.parametrize(
    ("minimum", "maximum", "taken"), [(0, 1, True), (2, 2, True), (3, 1, False), (0, 0, False)]
)
def test_autoscaling_needs_a_range(minimum: int, maximum: int, taken: bool) -> None:
    found = faults(gpuPool={"autoscaling": {"min": minimum, "max": maximum}})

    assert set(found) == (set() if taken else {"gpuPool.autoscaling"})


@pytest.mark.handles("autoscaler-without-count")
def test_a_fixed_count_beside_the_autoscaler_is_refused() -> None:
    found = faults(gpuPool={"count": 1, "autoscaling": {"min": 0, "max": 1}})

    assert set(found) == {"gpuPool.count"}
    assert not faults(gpuPool={"autoscaling": {"min": 0, "max": 1}})


@pytest.mark.parametrize(
    ("price", "taken"),
    [(-1, True), (0.5, True), (2, True), (0, False), (-2, False), (True, False)],
)
def test_a_spot_price_is_minus_one_or_positive(price: float, taken: bool) -> None:
    found = faults(gpuPool={"spot": {"maxPrice": price}})

    assert set(found) == (set() if taken else {"gpuPool.spot.maxPrice"})


@pytest.mark.parametrize("price", [float("nan"), float("inf")])
def test_a_spot_price_is_a_number_one_can_pay(price: float) -> None:
    assert set(faults(gpuPool={"spot": {"maxPrice": price}})) == {"gpuPool.spot.maxPrice"}


@pytest.mark.parametrize(
    ("size", "taken"),
    [
        ("Standard_NC24ads_A100_v4", True),
        ("Standard_ND96asr_v4", True),
        ("Standard_NV36ads_A10_v5", True),
        ("Standard_NC4as_T4_v3", True),
        ("Standard_D4s_v5", False),
        ("NC24ads_A100_v4", False),
        ("standard_nc24ads_a100_v4", False),
        ("Standard_NV8as_v4", False),
        ("Standard_ND96isr_MI300X_v5", False),
        ("Standard_NG32ads_V620_v1", False),
    ],
)
def test_the_pools_size_has_nvidia_gpus(size: str, taken: bool) -> None:
    assert set(faults(gpuPool={"vmSize": size})) == (set() if taken else {"gpuPool.vmSize"})


@pytest.mark.parametrize(
    ("size", "taken"),
    [
        ("Standard_NC24ads_A100_v4", True),
        ("Standard_ND96asr_v4", True),
        ("Standard_NC40ads_H100_v5", True),
        ("Standard_NC4as_T4_v3", False),
        ("Standard_NV36ads_A10_v5", False),
    ],
)
def test_only_gpus_that_can_be_partitioned_take_a_mig_profile(size: str, taken: bool) -> None:
    found = faults(gpuPool={"vmSize": size, "migProfile": MigProfile.MIG1G.value})

    assert set(found) == (set() if taken else {"gpuPool.migProfile"})


@pytest.mark.parametrize(
    ("taint", "taken"),
    [
        ("sku=gpu:NoSchedule", True),
        ("nvidia.com/gpu=present:NoExecute", True),
        ("dedicated:PreferNoSchedule", True),
        ("sku=gpu", False),
        ("sku=gpu:noschedule", False),
        ("sku=gpu:", False),
        ("=gpu:NoSchedule", False),
        ("sku=a b:NoSchedule", False),
        ("kubernetes.azure.com/scalesetpriority=spot:NoSchedule", False),
    ],
)
def test_a_taint_is_written_as_key_value_and_effect(taint: str, taken: bool) -> None:
    assert set(faults(gpuPool={"taints": [taint]})) == (set() if taken else {"gpuPool.taints[0]"})


def test_two_taints_with_one_key_and_effect_are_refused() -> None:
    found = faults(gpuPool={"taints": ["sku=gpu:NoSchedule", "sku=a100:NoSchedule"]})

    assert set(found) == {"gpuPool.taints[1]"}


@pytest.mark.handles("spot-taint")
def test_spots_own_label_is_not_a_settings() -> None:
    found = faults(gpuPool={"labels": {"kubernetes.azure.com/scalesetpriority": "spot"}})

    assert set(found) == {"gpuPool.labels"}


@pytest.mark.parametrize("key", ["a b", "", "x" * 64, "UPPER.example/x", "-a"])
def test_a_labels_key_keeps_kubernetes_rule(key: str) -> None:
    assert set(faults(gpuPool={"labels": {key: "x"}})) == {"gpuPool.labels"}


def test_a_labels_value_that_yaml_read_as_a_boolean_is_a_text() -> None:
    pool = settings(gpuPool={"labels": {"gpu": True, "generation": "4"}}).gpu_pool

    assert pool.labels == {"gpu": "true", "generation": "4"}
    assert set(faults(gpuPool={"labels": {"version": 1.20}})) == {"gpuPool.labels.version"}


def test_zones_are_one_two_and_three_each_once() -> None:
    assert settings(gpuPool={"zones": [1, "2"]}).gpu_pool.zones == ["1", "2"]
    assert set(faults(gpuPool={"zones": ["4"]})) == {"gpuPool.zones[0]"}
    assert set(faults(gpuPool={"zones": ["westeurope-1"]})) == {"gpuPool.zones[0]"}
    assert set(faults(gpuPool={"zones": ["1", 1]})) == {"gpuPool.zones"}


def test_a_subnet_is_named_by_its_id_and_only_for_an_existing_cluster() -> None:
    subnet = (
        f"/subscriptions/{GUID}/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v"
        "/subnets/s"
    )

    assert set(faults(gpuPool={"subnetId": "s"})) == {"gpuPool.subnetId"}
    assert not faults(gpuPool={"subnetId": subnet})
    assert set(faults(CREATED, gpuPool={"subnetId": subnet})) == {"gpuPool.subnetId"}


@pytest.mark.parametrize(
    ("key", "value"), [("osDiskSizeGb", 29), ("osDiskSizeGb", 2049), ("maxPods", 9), ("count", -1)]
)
def test_numbers_keep_the_limits_of_aks(key: str, value: int) -> None:
    assert set(faults(gpuPool={key: value})) == {f"gpuPool.{key}"}


def test_whoever_brings_the_driver_brings_the_device_plugin() -> None:
    assert set(faults(gpuPool={"driver": "None"})) == {"gpuPool.devicePlugin"}
    assert not faults(gpuPool={"driver": "None", "devicePlugin": False})


def test_the_gpu_pool_of_a_new_cluster_is_not_its_system_pool() -> None:
    assert set(faults(CREATED, gpuPool={"name": "system"})) == {"gpuPool.name"}
    assert not faults(gpuPool={"name": "system"})


# --- inspektorGadget ---------------------------------------------------------------------------


def test_a_version_needs_auto_upgrade_off() -> None:
    pinned = {"version": "0.53.0"}

    assert set(faults(inspektorGadget=pinned)) == {"inspektorGadget.version"}
    assert not faults(inspektorGadget={**pinned, "autoUpgrade": False})


@pytest.mark.parametrize(
    ("key", "taken"),
    [
        ("inspektor-gadget.config.daemonLogLevel", True),
        ("inspektor-gadget.hostPID", True),
        ("gpuObservability.interval", True),
        ("azureMonitor.port", True),
        ("config.daemonLogLevel", False),
        ("inspektor-gadget", False),
        ("inspektor-gadget.", False),
        ("inspektor_gadget.hostPID", False),
        ("Inspektor-Gadget.hostPID", False),
        ("inspektor-gadget.a..b", False),
        ("", False),
    ],
)
def test_the_extensions_settings_need_their_prefix(key: str, taken: bool) -> None:
    found = faults(inspektorGadget={"settings": {key: "x"}})
    path = f"inspektorGadget.settings.{key}".rstrip(".")

    assert set(found) == (set() if taken else {path})


def test_a_missing_prefix_is_answered_with_the_whole_key() -> None:
    (found,) = faults(inspektorGadget={"settings": {"config.hookMode": "auto"}}).values()

    assert found.fix == "write `inspektor-gadget.config.hookMode`"


@pytest.mark.parametrize("key", ["gpuObservability.enabled", "azureMonitor.enabled"])
def test_what_the_product_sets_on_the_extension_is_refused_by_name(key: str) -> None:
    (found,) = faults(inspektorGadget={"settings": {key: "false"}}).values()

    assert found.path == f"gpuobs:inspektorGadget.settings.{key}"
    assert found.rule == "this setting is the product's own"


def test_the_extensions_settings_are_texts() -> None:
    agent = settings(
        inspektorGadget={"settings": {"inspektor-gadget.hostPID": True, "inspektor-gadget.n": 3}}
    ).inspektor_gadget

    assert agent.settings == {"inspektor-gadget.hostPID": "true", "inspektor-gadget.n": "3"}


@pytest.mark.parametrize(
    ("value", "expected"), [("on", "on"), (True, "on"), (False, "off"), ("auto", "auto")]
)
def test_yaml_readers_that_take_on_for_true_mean_the_same(value: object, expected: str) -> None:
    assert settings(inspektorGadget={"azureMonitor": value}).inspektor_gadget.azure_monitor == (
        expected
    )


# --- grafana -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["g", "9grafana", "grafana-", "x" * 24, "a_b", "gräfana"])
def test_a_grafanas_name_keeps_azures_rule(name: str) -> None:
    assert set(faults(CREATED, grafana={"create": {"name": name}})) == {"grafana.create.name"}


@pytest.mark.parametrize("name", ["ab", "x" * 21, "a_b", "-ab", "ab-"])
def test_a_private_endpoints_name_keeps_azures_rule(name: str) -> None:
    found = faults(grafana={"privateEndpoint": {"name": name}})

    assert set(found) == {"grafana.privateEndpoint.name"}


@pytest.mark.handles("grafana-major")
@pytest.mark.parametrize("version", ["11", 11, "10", "14", "12.1", "latest", 12.5, True])
def test_a_major_version_that_azure_does_not_offer_is_refused(version: object) -> None:
    found = faults(CREATED, grafana={"create": {"majorVersion": version}})

    assert set(found) == {"grafana.create.majorVersion"}


@pytest.mark.handles("grafana-major")
@pytest.mark.parametrize("version", [12, "12", 13, "13"])
def test_a_current_major_version_may_be_a_number_or_a_text(version: object) -> None:
    created = settings(CREATED, grafana={"create": {"majorVersion": version}}).grafana.create

    assert isinstance(created, NewGrafana)
    assert created.major_version == str(version)


def test_a_tier_without_private_endpoints_is_refused() -> None:
    found = faults(CREATED, grafana={"create": {"tier": "Essential"}})

    assert set(found) == {"grafana.create.tier"}


@pytest.mark.handles("uid-too-long")
@pytest.mark.parametrize("uid", ["x" * 41, "has space", "ünïcode", "a/b", ""])
def test_a_uid_that_grafana_refuses_is_refused(uid: str) -> None:
    sections = {
        "dataSources": {"pyroscope": {"uid": uid}, "prometheus": {"uid": uid}},
        "dashboard": {"uid": uid},
    }

    assert set(faults(grafana=sections)) == {
        "grafana.dataSources.pyroscope.uid",
        "grafana.dataSources.prometheus.uid",
        "grafana.dashboard.uid",
    }


@pytest.mark.parametrize("field", ["name", "uid"])
def test_the_two_data_sources_differ(field: str) -> None:
    found = faults(grafana={"dataSources": {"pyroscope": {field: "x"}, "prometheus": {field: "x"}}})

    assert set(found) == {f"grafana.dataSources.prometheus.{field}"}


@pytest.mark.parametrize("path", ["/home/me/d.json", "C:\\d.json", "~/d.json", " "])
def test_a_dashboards_file_is_inside_the_project(path: str) -> None:
    assert set(faults(grafana={"dashboard": {"file": path}})) == {"grafana.dashboard.file"}


def test_the_general_folder_is_no_folder() -> None:
    assert set(faults(grafana={"folder": "General"})) == {"grafana.folder"}


def test_a_role_is_given_to_a_principal_once() -> None:
    assignment = {"principalId": GUID, "principalType": "Group", "role": "Viewer"}
    found = faults(grafana={"roleAssignments": [assignment, assignment]})

    assert set(found) == {"grafana.roleAssignments[1]"}
    assert not faults(grafana={"roleAssignments": [assignment, {**assignment, "role": "Editor"}]})


# --- prometheus --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://prometheus.example.com", True),
        ("http://10.0.0.4:9090/prom", True),
        ("http://[fd00::1]:9090", True),
        ("prometheus.example.com", False),
        ("ftp://prometheus", False),
        ("https://", False),
        ("https://a b", False),
        ("https://host/?token=x", False),
        ("https://user:pass@host", False),
    ],
)
def test_a_prometheus_url_is_a_plain_one(url: str, taken: bool) -> None:
    assert set(faults(prometheus={"url": url})) == (set() if taken else {"prometheus.url"})


def test_metrics_come_from_one_place() -> None:
    workspace = {"existing": {"name": "amw-dev", "resourceGroup": "rg"}}

    assert set(
        faults(prometheus={"azureMonitorWorkspace": workspace, "url": "https://prometheus"})
    ) == {"prometheus"}
    assert set(faults(prometheus={"azureMonitorWorkspace": {}})) == {
        "prometheus.azureMonitorWorkspace"
    }
    assert not faults(prometheus={})


# --- between sections --------------------------------------------------------------------------


def test_visibility_of_ones_own_subscription_alone_is_refused() -> None:
    own = {"subscriptionId": GUID}

    assert set(faults(azure=own, pyroscope={"privateLink": {"visibility": [GUID]}})) == {
        "pyroscope.privateLink.visibility"
    }
    assert not faults(azure=own, pyroscope={"privateLink": {"visibility": [GUID, OTHER_GUID]}})
