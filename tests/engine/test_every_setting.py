"""Every setting of the reference has an effect that can be seen in the (simulated) Azure.

The settings are read off their tree, so a new one fails here until it has a row in :data:`SHOWN`:
the value that a stack file gives it, and where in Azure that is seen afterwards. Few deployments
show all of them: settings that do not meet are changed together, on a stack that is deployed
already where they can be changed, on a new one where they choose what is made.
"""

import ast
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args, get_origin

import pytest
from pydantic.alias_generators import to_camel

from infra.settings import ComponentsSettings, Settings
from infra.settings.section import Section
from simulator.arm.private_link import ENDPOINT_SUBSCRIPTION
from simulator.arm.roles import GRAFANA_ADMIN, MONITORING_DATA_READER, NETWORK_CONTRIBUTOR
from simulator.kubernetes.chart import MIRROR
from simulator.seed import CALLER_ID, SUBSCRIPTION_ID
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig
from tests.engine.portal import Portal, portal_of, resource_group
from tests.engine.simulation import Simulation
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
SOMEBODY = "44444444-4444-4444-8444-444444444444"
OWN_DASHBOARD = "tests/dashboards/golden-without-metrics.json"
OWN_TITLE = as_object(json.loads((ROOT / OWN_DASHBOARD).read_text()))["title"]
ADMIN_CREDENTIAL = ".*/listClusterAdminCredential"
RULES = (
    "compactorFailing",
    "fullSoon",
    "leak",
    "metricsAbsent",
    "nearCapacity",
    "nodeWithoutAgent",
    "profilesDiscarded",
    "profilesMissing",
    "restarted",
    "uploadFailing",
    "uploadsMissing",
)
"""The alert rules by default; what each says is tested in ``tests/alerts``."""
PLS = "service.beta.kubernetes.io/azure-pls-"
NETWORK = f"{resource_group('rg-prod')}/providers/Microsoft.Network/virtualNetworks/vnet-prod"
GPU_SUBNET = f"{NETWORK}/subnets/gpus"


class World:
    """What is in Azure after a deployment, as ``scripts/simulate --inspect`` shows it."""

    def __init__(self, sim: Simulation, cluster: str) -> None:
        self._inspected = sim.inspect()
        self._cluster = cluster
        struck = as_objects(as_object(sim.control("GET", "faults"))["used"])
        self._called = {as_text(rule["path"]) for rule in struck}
        with portal_of(sim) as person:
            self._releases = Kubernetes(person, person.find(f"/{cluster}")).call("GET", "/releases")

    def called(self, path: str) -> bool:
        """Whether a call met the rule for ``path``, which only counts."""
        return path in self._called

    def resources(self, kind: str) -> dict[str, JsonObject]:
        """The resources of a type (its last part) by name."""
        return {
            key.rsplit("/", 1)[-1]: as_object(body)
            for key, body in as_object(self._inspected["resources"]).items()
            if key.lower().split("/")[-2] == kind.lower()
        }

    def properties(self, kind: str, name: str) -> JsonObject:
        """The properties of one of them."""
        found = self.resources(kind)
        assert name in found, f"no {name} among {sorted(found)}"
        return as_object(found[name]["properties"])

    def grafana(self, kind: str) -> list[JsonObject]:
        """``dataSources``, ``dashboards`` or ``folders`` of all workspaces."""
        workspaces = as_object(self._inspected["grafana"])
        return [one for state in workspaces.values() for one in as_objects(dig(state, kind))]

    def objects(self, kind: str) -> list[JsonObject]:
        """The objects of a kind in the stack's cluster."""
        clusters = as_object(self._inspected["kubernetes"])
        (state,) = [
            as_object(state) for key, state in clusters.items() if key.endswith(f"/{self._cluster}")
        ]
        if kind in ("Release", "Service"):
            return as_objects(state[f"{kind.lower()}s"])
        return [one for one in as_objects(state["objects"]) if one["kind"] == kind]

    # --- what several settings are seen in -------------------------------------------------------

    @property
    def pool(self) -> JsonObject:
        """The GPU pool."""
        pools = self.resources("agentPools")
        (found,) = [as_object(one["properties"]) for name, one in pools.items() if name != "system"]
        return found

    @property
    def server(self) -> JsonObject:
        """The pod template of Pyroscope."""
        (found,) = self.objects("StatefulSet")
        return as_object(dig(found, "spec", "template"))

    @property
    def chart(self) -> JsonObject:
        """Where Helm took the chart from."""
        (release,) = as_objects(self._releases.json())
        return as_object(release["source"])

    @property
    def container(self) -> JsonObject:
        """Its container."""
        return as_objects(dig(self.server, "spec", "containers"))[0]

    def annotation(self, name: str) -> object:
        """What the Service asks of the cloud controller for the private link."""
        services = self.objects("Service")
        (asking,) = [one for one in services if dig(one, "annotations", PLS + "create")]
        return dig(asking, "annotations", PLS + name)

    @property
    def configuration(self) -> JsonObject:
        """What Pyroscope reads."""
        (found,) = [
            one
            for one in self.objects("ConfigMap")
            if dig(one, "metadata", "name") == "pyroscope-config"
        ]
        return as_object(json.loads(as_text(dig(found, "data", "config.yaml"))))

    @property
    def claim(self) -> JsonObject:
        """What Pyroscope's pod asks of a disk."""
        (found,) = self.objects("StatefulSet")
        return as_objects(dig(found, "spec", "volumeClaimTemplates"))[0]

    @property
    def system_pool(self) -> JsonObject:
        """The first pool of the cluster that the stack makes."""
        profiles = self.properties("managedClusters", "aks-made")["agentPoolProfiles"]
        (found,) = [one for one in as_objects(profiles) if one["name"] == "system"]
        return found

    @property
    def extension(self) -> JsonObject:
        """The agent."""
        (found,) = self.resources("extensions").values()
        return as_object(found["properties"])

    def made_in(self, group: str) -> set[str]:
        """The types, in lower case, of what is in a resource group."""
        return {
            key.lower().split("/")[-2]
            for key in as_object(self._inspected["resources"])
            if f"/resourcegroups/{group}/providers/" in key.lower()
        }


Seen = Callable[[World], object]


@dataclass(frozen=True)
class Shown:
    """A setting's value in a stack file, and where it is seen in Azure."""

    value: object
    seen: Seen
    as_: object = None
    """What is seen there; None: the value itself."""

    @property
    def expected(self) -> object:
        """What is seen with the value."""
        return self.value if self.as_ is None else self.as_


def _source(uid: str, key: str) -> Seen:
    return lambda world: [one[key] for one in world.grafana("dataSources") if one["uid"] == uid]


def _role(key: str) -> Seen:
    def seen(world: World) -> object:
        (found,) = [
            as_object(one["properties"])
            for one in world.resources("roleAssignments").values()
            if dig(one, "properties", "principalId") == SOMEBODY
        ]
        return found[key]

    return seen


CHANGED: Mapping[str, Shown] = {
    "azure.location": Shown(
        "northeurope", lambda world: world.resources("resourceGroups")["rg-own"]["location"]
    ),
    "azure.tags": Shown({"team": "ml"}, lambda world: dig(world.pool, "tags", "team"), as_="ml"),
    "azure.resourceGroup.name": Shown(
        "rg-own", lambda world: "datacollectionrules" in world.made_in("rg-own"), as_=True
    ),
    "azure.resourceGroup.create": Shown(
        True, lambda world: "rg-own" in world.resources("resourceGroups")
    ),
    "cluster.podLabels": Shown(
        {"cost-center": "gpu"},
        lambda world: [
            dig(one, "spec", "template", "metadata", "labels", "cost-center")
            for one in [
                *world.objects("StatefulSet"),
                *(
                    one
                    for one in world.objects("DaemonSet")
                    if "nvidia" in as_text(dig(one, "metadata", "name"))
                ),
            ]
        ],
        as_=["gpu", "gpu"],
    ),
    "gpuPool.name": Shown("gpus", lambda world: "gpus" in world.resources("agentPools"), as_=True),
    "gpuPool.vmSize": Shown("Standard_NC48ads_A100_v4", lambda world: world.pool["vmSize"]),
    "gpuPool.count": Shown(2, lambda world: world.pool["count"]),
    "gpuPool.taints": Shown(["a=b:NoSchedule"], lambda world: world.pool["nodeTaints"]),
    "gpuPool.labels": Shown({"c": "d"}, lambda world: world.pool.get("nodeLabels")),
    "gpuPool.osSku": Shown("AzureLinux", lambda world: world.pool["osSKU"]),
    "gpuPool.migProfile": Shown("MIG1g", lambda world: world.pool.get("gpuInstanceProfile")),
    "gpuPool.zones": Shown(["1"], lambda world: world.pool.get("availabilityZones")),
    "gpuPool.osDiskSizeGb": Shown(256, lambda world: world.pool.get("osDiskSizeGB")),
    "gpuPool.maxPods": Shown(50, lambda world: world.pool.get("maxPods")),
    "gpuPool.devicePluginTag": Shown(
        "v0.17.4",
        lambda world: [
            as_text(dig(container, "image")).rsplit(":", 1)[-1]
            for one in world.objects("DaemonSet")
            for container in as_objects(dig(one, "spec", "template", "spec", "containers"))
            if "device-plugin" in as_text(dig(container, "image"))
        ],
        ["v0.17.4"],
    ),
    "inspektorGadget.name": Shown(
        "gadget-agent", lambda world: list(world.resources("extensions")), as_=["gadget-agent"]
    ),
    "inspektorGadget.releaseTrain": Shown("stable", lambda world: world.extension["releaseTrain"]),
    "inspektorGadget.version": Shown("0.50.1", lambda world: world.extension.get("version")),
    "inspektorGadget.autoUpgrade": Shown(
        False, lambda world: world.extension["autoUpgradeMinorVersion"]
    ),
    "inspektorGadget.settings": Shown(
        {"inspektor-gadget.config.daemonLogLevel": "debug"},
        lambda world: as_object(world.extension["configurationSettings"]).get(
            "inspektor-gadget.config.daemonLogLevel"
        ),
        as_="debug",
    ),
    "inspektorGadget.azureMonitor": Shown(
        "off",
        lambda world: as_object(world.extension["configurationSettings"])["azureMonitor.enabled"],
        as_="false",
    ),
    "registry.prefix": Shown(
        "registry.example.com/mirror",
        lambda world: {
            image.rsplit(":", 1)[0]
            for one in [*world.objects("DaemonSet"), *world.objects("StatefulSet")]
            for container in as_objects(dig(one, "spec", "template", "spec", "containers"))
            if (image := as_text(dig(container, "image"))).startswith("registry.")
        },
        as_={
            "registry.example.com/mirror/grafana/pyroscope",
            "registry.example.com/mirror/nvidia/k8s-device-plugin",
        },
    ),
    "pyroscope.chart.repository": Shown(
        "https://grafana.github.io/helm-charts", lambda world: world.chart["repository"]
    ),
    "pyroscope.chart.name": Shown("pyroscope", lambda world: world.chart["chart"]),
    "pyroscope.chart.version": Shown(
        "1.15.1", lambda world: world.objects("Release")[0]["version"]
    ),
    "pyroscope.imageTag": Shown(
        "1.15.1", lambda world: as_text(world.container["image"]).rsplit(":", 1)[-1]
    ),
    "pyroscope.resources": Shown(
        {"requests": {"memory": "2Gi"}}, lambda world: world.container["resources"]
    ),
    "pyroscope.nodeSelector": Shown(
        {"agentpool": "system"}, lambda world: dig(world.server, "spec", "nodeSelector")
    ),
    "pyroscope.tolerations": Shown(
        [{"key": "e", "operator": "Exists"}], lambda world: dig(world.server, "spec", "tolerations")
    ),
    "pyroscope.affinity": Shown(
        {"nodeAffinity": {}}, lambda world: dig(world.server, "spec", "affinity")
    ),
    "pyroscope.privateLink.name": Shown(
        "other-pls",
        lambda world: list(world.resources("privateLinkServices")),
        as_=["other-pls"],
    ),
    "pyroscope.privateLink.visibility": Shown(
        [ENDPOINT_SUBSCRIPTION],
        lambda world: dig(
            world.properties("privateLinkServices", "other-pls"), "visibility", "subscriptions"
        ),
    ),
    "pyroscope.privateLink.subnet": Shown(
        "aks-subnet", lambda world: world.annotation("ip-configuration-subnet")
    ),
    "pyroscope.privateLink.addressCount": Shown(
        2, lambda world: world.annotation("ip-configuration-ip-address-count"), as_="2"
    ),
    "pyroscope.privateLink.addresses": Shown(
        ["10.224.0.77"],
        lambda world: world.annotation("ip-configuration-ip-address"),
        as_="10.224.0.77",
    ),
    "pyroscope.privateLink.fqdns": Shown(
        ["profiles.example.org"],
        lambda world: world.annotation("fqdns"),
        as_="profiles.example.org",
    ),
    "pyroscope.values": Shown(
        {"pyroscope": {"extraLabels": {"team": "ml"}}},
        lambda world: dig(world.server, "metadata", "labels", "team"),
        as_="ml",
    ),
    "grafana.privateEndpoint.name": Shown(
        "other-mpe",
        lambda world: list(world.resources("managedPrivateEndpoints")),
        as_=["other-mpe"],
    ),
    "grafana.folder": Shown(
        "GPU team", lambda world: [one["title"] for one in world.grafana("folders")], ["GPU team"]
    ),
    "grafana.dataSources.pyroscope.name": Shown(
        "profiles", _source("profiles-uid", "name"), ["profiles"]
    ),
    "grafana.dataSources.pyroscope.uid": Shown(
        "profiles-uid", _source("profiles-uid", "uid"), ["profiles-uid"]
    ),
    "grafana.dataSources.prometheus.name": Shown(
        "metrics", _source("metrics-uid", "name"), ["metrics"]
    ),
    "grafana.dataSources.prometheus.uid": Shown(
        "metrics-uid", _source("metrics-uid", "uid"), ["metrics-uid"]
    ),
    "grafana.dashboard.uid": Shown(
        "gpus", lambda world: [one["uid"] for one in world.grafana("dashboards")], ["gpus"]
    ),
    "grafana.dashboard.title": Shown(
        "GPUs", lambda world: [one["title"] for one in world.grafana("dashboards")], ["GPUs"]
    ),
    "grafana.roleAssignments[].principalId": Shown(SOMEBODY, _role("principalId")),
    "grafana.roleAssignments[].principalType": Shown("Group", _role("principalType")),
    "grafana.roleAssignments[].role": Shown(
        "Viewer",
        lambda world: as_text(_role("roleDefinitionId")(world)).rsplit("/", 1)[-1],
        as_="60921a7e-fef1-4a43-9b16-a26c52ad4769",
    ),
}
"""Changed all at once on the deployed stack ``dev``."""

CHOSEN: Mapping[str, Shown] = {
    "cluster.existing.name": Shown("aks-prod", lambda world: len(world.objects("Release")), as_=1),
    "cluster.existing.resourceGroup": Shown(
        "rg-prod", lambda world: "extensions" in world.made_in("rg-prod"), as_=True
    ),
    "cluster.credentials": Shown("admin", lambda world: world.called(ADMIN_CREDENTIAL), as_=True),
    "cluster.createNamespace": Shown(
        False,
        lambda world: [
            dig(one, "metadata", "labels", "made")
            for one in world.objects("Namespace")
            if dig(one, "metadata", "name") == "gadget"
        ],
        as_=["by-hand"],
    ),
    "gpuPool.subnetId": Shown(GPU_SUBNET, lambda world: world.pool["vnetSubnetID"]),
    "gpuPool.autoscaling.min": Shown(1, lambda world: world.pool["minCount"]),
    "gpuPool.autoscaling.max": Shown(3, lambda world: world.pool["maxCount"]),
    "gpuPool.spot.maxPrice": Shown(0.5, lambda world: world.pool["spotMaxPrice"]),
    "gpuPool.spot.evictionPolicy": Shown(
        "Deallocate", lambda world: world.pool["scaleSetEvictionPolicy"]
    ),
    "gpuPool.driver": Shown("None", lambda world: dig(world.pool, "gpuProfile", "driver")),
    "gpuPool.devicePlugin": Shown(
        False,
        lambda world: [
            one
            for one in world.objects("DaemonSet")
            if "nvidia" in as_text(dig(one, "metadata", "name"))
        ],
        as_=[],
    ),
    "pyroscope.allowIncompatibleServer": Shown(
        True, lambda world: as_text(world.container["image"]).endswith(":1.20.0")
    ),
    "pyroscope.chart.oci": Shown(MIRROR, lambda world: world.chart["chart"]),
    "pyroscope.storage.disk.size": Shown(
        "100Gi",
        lambda world: dig(world.claim, "spec", "resources", "requests", "storage"),
    ),
    "pyroscope.storage.disk.storageClassName": Shown(
        "managed-csi-premium", lambda world: dig(world.claim, "spec", "storageClassName")
    ),
    "pyroscope.privateLink.autoApproval": Shown(
        [ENDPOINT_SUBSCRIPTION],
        lambda world: world.annotation("auto-approval"),
        ENDPOINT_SUBSCRIPTION,
    ),
    "pyroscope.privateLink.resourceGroup": Shown(
        "rg-dev", lambda world: "privatelinkservices" in world.made_in("rg-dev"), as_=True
    ),
    "grafana.existing.name": Shown(
        "grafana-other", lambda world: len(world.grafana("dashboards")), as_=1
    ),
    "grafana.existing.resourceGroup": Shown(
        "rg-prod", lambda world: "managedprivateendpoints" in world.made_in("rg-prod"), as_=True
    ),
    "grafana.existing.privateAccess": Shown(
        True,
        # It answers inside its network alone, and is refused without the setting.
        lambda world: (
            world.properties("grafana", "grafana-other")["publicNetworkAccess"],
            len(world.grafana("dashboards")),
        ),
        as_=("Disabled", 1),
    ),
    "grafana.adopt": Shown(True, _source("by-hand", "type"), as_=["grafana-pyroscope-datasource"]),
    "grafana.dashboard.file": Shown(
        OWN_DASHBOARD, lambda world: world.grafana("dashboards")[0]["title"], as_=OWN_TITLE
    ),
    "prometheus.azureMonitorWorkspace.existing.name": Shown(
        "amw-other",
        lambda world: any(
            "amw-other" in as_text(one["url"]) for one in world.grafana("dataSources")
        ),
        as_=True,
    ),
    "prometheus.azureMonitorWorkspace.existing.resourceGroup": Shown(
        "rg-prod",
        # The workspace of that name is in that group only.
        lambda world: any(
            "amw-other" in as_text(one["url"]) for one in world.grafana("dataSources")
        ),
        as_=True,
    ),
    "prometheus.azureMonitorWorkspace.collect": Shown(
        False,
        # Each workspace has a rule of its own.
        lambda world: [
            name for name in world.resources("dataCollectionRules") if name.startswith("dcr-")
        ],
        as_=[],
    ),
}
"""Chosen at once for a new stack on what exists already."""

MADE: Mapping[str, Shown] = {
    "azure.namedAfter": Shown(
        "former",
        lambda world: any(
            name.startswith("dcr-former-") for name in world.resources("dataCollectionRules")
        ),
        as_=True,
    ),
    "gpuPool.enabled": Shown(
        False, lambda world: sorted(world.resources("agentPools")), ["system"]
    ),
    "cluster.create.name": Shown(
        "aks-made", lambda world: "aks-made" in world.resources("managedClusters"), as_=True
    ),
    "cluster.create.kubernetesVersion": Shown(
        "1.33", lambda world: world.properties("managedClusters", "aks-made")["kubernetesVersion"]
    ),
    "cluster.create.nodeResourceGroup": Shown(
        "rg-nodes",
        lambda world: world.properties("managedClusters", "aks-made")["nodeResourceGroup"],
    ),
    "cluster.create.systemPool.vmSize": Shown(
        "Standard_D8s_v5", lambda world: world.system_pool["vmSize"]
    ),
    "cluster.create.systemPool.count": Shown(3, lambda world: world.system_pool["count"]),
    "grafana.create.name": Shown(
        "grafana-made", lambda world: "grafana-made" in world.resources("grafana"), as_=True
    ),
    "grafana.create.majorVersion": Shown(
        "13", lambda world: world.properties("grafana", "grafana-made")["grafanaMajorVersion"]
    ),
    "grafana.create.zoneRedundancy": Shown(
        True,
        lambda world: world.properties("grafana", "grafana-made")["zoneRedundancy"],
        as_="Enabled",
    ),
    "pyroscope.chart.path": Shown(
        "simulator/charts/pyroscope",
        lambda world: as_text(world.chart["chart"]).endswith("simulator/charts/pyroscope"),
        as_=True,
    ),
    "pyroscope.storage.blob.account": Shown(
        "madeprofiles", lambda world: "madeprofiles" in world.resources("storageAccounts"), as_=True
    ),
    "pyroscope.storage.blob.resourceGroup": Shown(
        "rg-dev", lambda world: "storageaccounts" in world.made_in("rg-dev"), as_=True
    ),
    "pyroscope.storage.blob.redundancy": Shown(
        "ZRS",
        lambda world: dig(world.resources("storageAccounts")["madeprofiles"], "sku", "name"),
        as_="Standard_ZRS",
    ),
    "pyroscope.storage.retention": Shown(
        "60d",
        lambda world: dig(world.configuration, "limits", "compactor_blocks_retention_period"),
    ),
    "pyroscope.storage.lossWindow": Shown(
        "40m",
        lambda world: dig(world.configuration, "pyroscopedb", "max_block_duration"),
        as_="15m",
    ),
    "prometheus.azureMonitorWorkspace.create.name": Shown(
        "amw-made", lambda world: "amw-made" in world.resources("accounts"), as_=True
    ),
}
"""Chosen at once for a new stack that makes everything."""

_ALERTS = "tests/engine/test_every_alert.py::"
_OTHER = "tests/engine/test_other_subscription.py::"
_OWN_GRAFANA = "tests/engine/test_own_grafana.py::"

_DISTRIBUTED = "tests/engine/test_distributed.py::"

_FORWARDED = (
    "tests/engine/test_forwarded_pyroscope.py::"
    "test_the_agents_service_leads_to_the_forwarder_and_the_signal_arrives"
)

ELSEWHERE: Mapping[str, str] = {
    "azure.subscriptionId": f"{_OTHER}test_a_stack_of_another_subscription_is_made_in_it",
    "cluster.existing.id": f"{_OTHER}test_what_the_stack_makes_goes_where_cluster_and_grafana_are",
    "grafana.existing.id": f"{_OTHER}test_what_the_stack_makes_goes_where_cluster_and_grafana_are",
    "prometheus.azureMonitorWorkspace.existing.id": f"{_OTHER}test_a_workspace_of_another"
    "_subscription_is_what_the_metrics_source_asks",
    "pyroscope.privateLink.create": f"{_OWN_GRAFANA}"
    "test_a_private_link_of_ones_own_is_made_where_it_is_asked_for",
    "pyroscope.privateLink.protectConnections": "tests/engine/test_private_link.py::"
    "test_without_the_protection_destroy_ends_and_says_whom_it_cut_off",
    "grafana.selfHosted.url": f"{_OWN_GRAFANA}test_no_endpoint_link_or_role_is_made_for_it",
    "grafana.selfHosted.azureSignIn": f"{_OWN_GRAFANA}"
    "test_the_sources_lead_to_the_address_inside_the_cluster",
    "pyroscope.existing.url": "tests/engine/test_existing_pyroscope.py::"
    "test_the_name_to_which_the_agents_push_leads_to_it",
    "pyroscope.existing.credentials.secret": _FORWARDED,
    "pyroscope.existing.credentials.key": _FORWARDED,
    "pyroscope.existing.dataSource": "tests/engine/test_existing_pyroscope.py::"
    "test_a_source_that_is_there_takes_the_place_of_the_stacks_own",
    "pyroscope.mode": f"{_DISTRIBUTED}"
    "test_every_component_is_there_with_its_budget_and_one_of_them_behind_the_private_link",
    **{
        f"pyroscope.components.{field.alias}.{key}": f"{_DISTRIBUTED}"
        "test_each_component_has_the_replicas_and_the_resources_that_are_set"
        for field in ComponentsSettings.model_fields.values()
        for key in ("replicas", "resources")
    },
    **{
        f"grafana.selfHosted.{key}": f"{_OWN_GRAFANA}"
        "test_another_variable_and_another_way_to_the_profiles_are_updates"
        for key in ("tokenVariable", "pyroscopeUrl")
    },
    "pyroscope.storage.onDestroy": "tests/engine/test_blob.py::"
    "test_an_account_goes_with_the_stack_where_the_stack_file_says_so",
    **{
        f"pyroscope.storage.blob.existing.{key}": "tests/engine/test_blob.py::"
        "test_a_container_of_ones_own_takes_its_place_and_gets_a_role_of_its_own"
        for key in ("account", "resourceGroup", "container")
    },
    "grafana.driftDetection": "tests/engine/test_drift.py::"
    "test_without_drift_detection_nothing_is_looked_for_and_turning_it_off_changes_nothing",
    "prometheus.url": "tests/engine/test_changes_on_grafana.py::"
    "test_metrics_go_from_azure_monitor_to_ones_own_and_to_none",
    "alerts.email": f"{_ALERTS}test_the_action_group_writes_to_the_address_that_is_set",
    "alerts.actionGroups": "tests/engine/test_alerts.py::"
    "test_an_action_group_that_exists_is_told_too_and_stays",
    "alerts.clusterLabel": f"{_ALERTS}test_the_rules_look_at_the_cluster_by_the_label_that_is_set",
    "alerts.documentationUrl": f"{_ALERTS}test_the_rules_link_to_the_documentation_that_is_set",
    **{
        f"alerts.rules.{name}.{key}": _ALERTS + test
        for name in RULES
        for key, test in (
            ("enabled", "test_an_alert_is_there_where_it_is_enabled_and_only_there"),
            ("minutes", "test_an_alert_must_hold_for_the_minutes_that_are_set"),
            (
                "threshold",
                "test_a_threshold_is_what_the_rule_compares_with_and_refused_where_there_is_none",
            ),
        )
    },
}
"""The engine tests that show a setting which takes a life of its own to be seen."""


# --- nothing is forgotten ------------------------------------------------------------------------


def leaves(section: type[Section], prefix: str = "") -> Iterator[str]:
    """The paths of the settings that hold a value, as the stack file spells them."""
    for name, field in section.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner, many = _inner(field.annotation)
        if inner is None:
            yield path
        else:
            yield from leaves(inner, f"{path}[]." if many else f"{path}.")


def _inner(annotation: object) -> tuple[type[Section] | None, bool]:
    """The section in an annotation, and whether it is a list's."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, False
    for argument in cast("tuple[object, ...]", get_args(annotation)):
        inner, many = _inner(argument)
        if inner is not None:
            return inner, many or get_origin(annotation) is Sequence
    return None, False


ROUNDS = {"changed": CHANGED, "chosen": CHOSEN, "made": MADE}


def test_every_setting_is_shown_once() -> None:
    shown = [path for rows in (*ROUNDS.values(), ELSEWHERE) for path in rows]
    assert sorted(shown) == sorted(leaves(Settings))


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_what_is_shown_elsewhere_is_a_test_on_the_engine_that_sets_it(test: str) -> None:
    """The test is there, in a module that runs the engine, and that module gives each a value."""
    file, _, name = test.partition("::")
    assert file.startswith("tests/engine/test_")
    module = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    assert name.startswith("test_")
    assert functions.count(name) == 1
    marks = [ast.unparse(node) for node in module.body if isinstance(node, ast.Assign)]
    assert "pytestmark = pytest.mark.engine" in marks
    texts = {
        part
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for part in node.value.split(".")
    }
    named = [node.arg for node in ast.walk(module) if isinstance(node, ast.keyword)]
    texts |= {to_camel(name) for name in named if name}
    given = {path.rsplit(".", 1)[-1] for path, one in ELSEWHERE.items() if one == test}
    assert given <= texts


# --- the deployments -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """The Azure around one deployment."""

    before: World | None
    """None: the stack is new, and its values differ from the defaults."""
    after: World


def _edits(rows: Mapping[str, Shown]) -> dict[str, object]:
    """The changes of a stack file; a list's items are one value."""
    edits: dict[str, object] = {}
    for path, row in rows.items():
        outer, _, key = path.partition("[].")
        if key:
            item = as_object(as_list(edits.get(outer))[0] if outer in edits else None)
            edits[outer] = [{**item, key: row.value}]
        else:
            edits[path] = row.value
    return edits


@pytest.fixture(scope="module")
def changed(sim: Simulation) -> Round:
    """A stack that is deployed already, and changed."""
    sim.up("dev")
    before = World(sim, "aks-dev")
    sim.stack_file("dev", _edits(CHANGED))
    sim.up("dev")
    after = World(sim, "aks-dev")
    sim.destroy("dev")
    return Round(before, after)


@pytest.fixture(scope="module")
def chosen(sim: Simulation, person: Portal) -> Round:
    """A new stack on what exists."""
    _make_what_prod_finds(person)
    # A rule that only counts.
    sim.faults({"path": ADMIN_CREDENTIAL, "count": None, "then": {"delay": 0}})
    sim.stack_file("prod", like="dev")
    by_hand = {"grafana.dataSources.pyroscope": {"name": "by-hand", "uid": "by-hand"}}
    sim.stack_file("prod", {**by_hand, "pyroscope.imageTag": "1.20.0", **_edits(CHOSEN)})
    sim.up("prod")
    found = World(sim, "aks-prod")
    sim.destroy("prod")
    return Round(None, found)


@pytest.fixture(scope="module")
def made(sim: Simulation) -> Round:
    """A new stack that makes what it needs."""
    sim.stack_file("sandbox", _edits(MADE))
    sim.up("sandbox")
    return Round(None, World(sim, "aks-made"))


def _make_what_prod_finds(person: Portal) -> None:
    """A cluster in a network, a Grafana that answers in networks only, a workspace that it reads, a
    namespace and a data source, all made by hand."""
    group = resource_group("rg-prod")
    person.settings(privateNetwork=True)
    grafana = person.put(f"{group}/providers/Microsoft.Dashboard/grafana/grafana-other", _GRAFANA)
    workspace = f"{group}/providers/Microsoft.Monitor/accounts/amw-other"
    person.put(workspace, {"location": "westeurope"})
    prod = f"{group}/providers/Microsoft.ContainerService/managedClusters/aks-prod"
    person.make_network(NETWORK, "nodes", "gpus")
    person.move_into(f"{NETWORK}/subnets/nodes", prod)
    cluster = as_text(dig(person.get(prod), "identity", "principalId"))
    for scope, role, principal in (
        (as_text(grafana["id"]), GRAFANA_ADMIN, CALLER_ID),
        (workspace, MONITORING_DATA_READER, as_text(dig(grafana, "identity", "principalId"))),
        (resource_group("rg-dev"), NETWORK_CONTRIBUTOR, cluster),
        (NETWORK, NETWORK_CONTRIBUTOR, cluster),
    ):
        name = uuid.uuid5(uuid.NAMESPACE_URL, f"{scope}|{role}")
        definitions = f"/subscriptions/{SUBSCRIPTION_ID}/providers/Microsoft.Authorization"
        properties = {
            "roleDefinitionId": f"{definitions}/roleDefinitions/{role}",
            "principalId": principal,
            "principalType": "ServicePrincipal",
        }
        path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"
        person.arm("PUT", path, "2022-04-01", {"properties": properties})
    person.advance(600)
    namespace = {"name": "gadget", "labels": {"made": "by-hand"}}
    manifest: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}
    answer = Kubernetes(person, prod).call("POST", "/api/v1/namespaces", manifest)
    assert answer.status_code == 201, answer.text
    source = {"name": "by-hand", "uid": "by-hand", "type": "prometheus", "access": "proxy"}
    made = person.grafana("POST", "/api/datasources", source, workspace="grafana-other")
    assert made.status_code == 200, made.text


_GRAFANA: JsonObject = {
    "location": "westeurope",
    "sku": {"name": "Standard"},
    "identity": {"type": "SystemAssigned"},
    "properties": {"grafanaMajorVersion": "12", "publicNetworkAccess": "Disabled"},
}


def _default(path: str) -> object:
    """What a setting is where a stack file leaves it out."""
    *outer, key = path.replace("[]", "").split(".")
    section: type[Section] = Settings
    for name in outer:
        annotation = next(
            field.annotation for field in section.model_fields.values() if field.alias == name
        )
        inner, _ = _inner(annotation)
        assert inner is not None
        section = inner
    (field,) = [one for one in section.model_fields.values() if one.alias == key]
    return field.get_default(call_default_factory=True)


@pytest.mark.parametrize(
    ("round_name", "path"), [(name, path) for name, rows in ROUNDS.items() for path in rows]
)
def test_a_setting_is_seen_in_azure(
    request: pytest.FixtureRequest, round_name: str, path: str
) -> None:
    row = ROUNDS[round_name][path]
    around = cast("Round", request.getfixturevalue(round_name))
    assert row.seen(around.after) == row.expected
    if around.before is None:
        assert _default(path) != row.value, "it is so by default"
    else:
        assert _seen(row, around.before) != row.expected, "it was so before"


def _seen(row: Shown, world: World) -> object:
    try:
        return row.seen(world)
    except (AssertionError, KeyError, StopIteration, ValueError):
        return None
