"""What others made that is in the way of a first update, and what is not."""

from collections.abc import Container
from typing import Any

import pytest

from contract.messages.leftovers import Leftover
from contract.messages.survey import (
    ClusterFacts,
    DevicePluginFacts,
    EndpointFacts,
    InsideFacts,
    InstalledExtension,
    PoolFacts,
    Presence,
    ReleaseRecord,
    Survey,
)
from infra.deployed import EVERYTHING, Own
from infra.faults import ConfigurationError
from infra.names import names_for
from infra.preflight import Existing, evaluate, operation_in_progress, survey_request
from infra.preflight.leftovers import own_leftovers
from infra.settings import Settings
from tests.unit.stack_files import settings, stack
from tests.unit.test_preflight import (
    CLUSTER,
    CLUSTER_ID,
    GOOD,
    GRAFANA_ID,
    GROUP,
    PROVIDER,
    WITH_METRICS,
)

NOTHING: Container[str] = frozenset[str]()
NAMES = names_for("gpuobs", "dev")
NODES = "/subscriptions/11111111-1111-4111-8111-111111111111/resourceGroups/MC_rg-dev_aks-dev_west"
LINK = f"{CLUSTER_ID.split('/resourceGroups/')[0]}/resourceGroups/mc_rg-dev_aks-dev_westeurope"
PLUGIN = DevicePluginFacts(
    name="kube-system/nvidia-device-plugin",
    tolerations=({"key": "sku", "operator": "Exists", "effect": "NoSchedule"},),
)


def checked(
    survey: Survey,
    wanted: Settings | None = None,
    deployed: Container[str] = NOTHING,
    **options: Any,
) -> Existing:
    wanted = wanted or settings(WITH_METRICS)
    request = survey_request(wanted, NAMES, PROVIDER, deployed=deployed)
    return evaluate(wanted, survey, request, deployed, **options)


def faults(
    survey: Survey, wanted: Settings | None = None, deployed: Container[str] = NOTHING
) -> list[str]:
    try:
        checked(survey, wanted, deployed)
    except ConfigurationError as error:
        return [str(fault) for fault in error.faults]
    return []


def with_facts(**facts: Any) -> Survey:
    return GOOD.model_copy(update=facts)


def inside(**facts: Any) -> Survey:
    return with_facts(inside=InsideFacts(presence=Presence.FOUND, **facts))


def endpoint(name: str = "pyroscope-mpe", link: str = LINK) -> Survey:
    service = f"{link}/providers/Microsoft.Network/privateLinkServices/pyroscope-pls"
    found = EndpointFacts(
        id=f"{GRAFANA_ID}/managedPrivateEndpoints/{name}", name=name, private_link_id=service
    )
    return with_facts(endpoints=(found,))


def record(status: str, link: str, number: int = 1) -> ReleaseRecord:
    name = f"sh.helm.release.v1.pyroscope.v{number}"
    return ReleaseRecord(name=name, uid=f"uid-{number}", status=status, private_link_name=link)


THEIRS = (record("deployed", "pls"),)
MARKED = (
    Leftover(path="/api/v1/namespaces/gadget", uid="1"),
    Leftover(path="/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia", uid="2"),
    Leftover(path="/apis/azmonitoring.coreos.com/v1/namespaces/gadget/podmonitors/p", uid="3"),
)
LEFT = inside(namespace=True, namespace_empty=True, marked=MARKED)


def test_what_a_killed_run_has_made_is_cleared_away_and_not_in_the_way() -> None:
    assert checked(LEFT).leftovers == MARKED
    in_state = {Own.NAMESPACE, Own.DEVICE_PLUGIN, Own.POD_MONITOR}
    assert checked(LEFT, deployed=in_state).leftovers == ()
    assert checked(LEFT, deployed=EVERYTHING).leftovers == (), "where the state is not known"


def test_the_service_of_the_agents_is_a_leftover_unless_the_state_has_either_kind_of_it() -> None:
    service = Leftover(path="/api/v1/namespaces/gadget/services/pyroscope", uid="4")
    survey = inside(marked=(service,))
    assert checked(survey).leftovers == (service,)
    wanted = settings(WITH_METRICS)
    for own in (Own.ELSEWHERE, Own.AGENT_SERVICE):
        assert own_leftovers(wanted, survey, {own}) == ()


def test_a_marked_namespace_with_something_in_it_is_a_persons_to_judge() -> None:
    (fault,) = faults(inside(namespace=True, marked=MARKED[:1]))
    assert "exists already" in fault


EXTENSION = InstalledExtension(
    presence=Presence.FOUND,
    id=f"{CLUSTER_ID}/providers/Microsoft.KubernetesConfiguration/extensions/ig",
    name="ig",
    provisioning_state="Succeeded",
)
POOL = PoolFacts(name="gpu", count=1)
GPU_POOL_IS_THERE = CLUSTER.model_copy(update={"pools": (*CLUSTER.pools, POOL)})


@pytest.mark.parametrize(
    ("survey", "own", "words"),
    [
        (endpoint(), Own.PRIVATE_ENDPOINT, "az resource delete --ids"),
        (inside(release_records=THEIRS, private_link_name="pls"), Own.RELEASE, "helm uninstall"),
        (with_facts(installed=EXTENSION), Own.EXTENSION, "extensions/ig --api-version 2023-05-01"),
        (inside(agent_by_hand=True), Own.EXTENSION, "kubectl gadget undeploy"),
        (inside(namespace=True), Own.NAMESPACE, "createNamespace: false"),
        (with_facts(cluster=GPU_POOL_IS_THERE), Own.GPU_POOL, "enabled: false"),
    ],
)
def test_what_is_there_is_in_the_way_unless_it_is_this_stacks(
    survey: Survey, own: Own, words: str
) -> None:
    (fault,) = faults(survey)
    assert words in fault
    assert faults(survey, deployed={own}) == []
    assert faults(survey, deployed=EVERYTHING) == [], "where the state is not known"


@pytest.mark.parametrize(
    ("cluster", "workspace", "is_in_the_way"),
    [
        ({"private_api_server": True}, {}, True),
        ({}, {"location": "northeurope"}, True),
        ({}, {}, False),
    ],
)
def test_somebody_elses_access_endpoint_is_in_the_way_where_the_stack_needs_one(
    cluster: dict[str, object], workspace: dict[str, object], is_in_the_way: bool
) -> None:
    theirs = f"{GROUP}/providers/Microsoft.Insights/dataCollectionEndpoints/theirs"
    survey = with_facts(
        access_endpoint=theirs,
        cluster=CLUSTER.model_copy(update=cluster),
        workspace=GOOD.workspace.model_copy(update=workspace),
    )
    found = [one for one in faults(survey) if "configurationAccessEndpoint" in one]
    assert [theirs in one and "collect: false" in one for one in found] == [True] * is_in_the_way
    assert faults(survey, deployed={Own.ACCESS_ENDPOINT}) == []
    existing = {"name": "amw-dev", "resourceGroup": "rg-dev"}
    off = settings(prometheus={"azureMonitorWorkspace": {"existing": existing, "collect": False}})
    assert faults(survey, off) == []


def test_whoever_connected_to_the_stacks_own_private_link_is_not_in_the_way_of_it() -> None:
    # As after a `destroy` that they held up: the release is there, the endpoint is gone.
    assert faults(endpoint(), deployed={Own.RELEASE}) == []
    named = settings(WITH_METRICS, grafana={"privateEndpoint": {"name": "p-own"}})
    (fault,) = faults(endpoint("p-own"), named, {Own.RELEASE})
    assert "has the name of this stack's own" in fault


def test_all_of_it_is_told_at_once_in_the_order_in_which_it_is_cleared_away() -> None:
    survey = inside(namespace=True, release_records=THEIRS).model_copy(
        update={
            "endpoints": endpoint().endpoints,
            "installed": EXTENSION,
            "cluster": GPU_POOL_IS_THERE,
        }
    )
    found = faults(survey)
    kinds = ["managed private endpoint", "Helm release", "extension", "namespace", "gpuobs:gpuPool"]
    assert [fault.startswith(kind) for fault, kind in zip(found, kinds, strict=False)] == [True] * 5
    assert len(found) == 5


@pytest.mark.parametrize(
    "survey",
    [
        endpoint(link=NODES),
        endpoint(NAMES.private_endpoint),
        inside(release_records=(record("pending-install", NAMES.private_link),)),
    ],
)
def test_what_leads_elsewhere_or_has_a_name_that_only_this_stack_gives_is_not_in_the_way(
    survey: Survey,
) -> None:
    assert faults(survey) == []


def test_a_namespace_or_a_pool_that_is_said_to_exist_is_not_in_the_way() -> None:
    theirs = stack({"cluster": {"createNamespace": False}}, WITH_METRICS)
    assert faults(inside(namespace=True), settings(theirs)) == []
    none = settings(WITH_METRICS, gpuPool={"enabled": False})
    assert faults(with_facts(cluster=GPU_POOL_IS_THERE), none) == []


# --- who offers GPUs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugin", "is_in_the_way"),
    [
        (PLUGIN, True),
        (PLUGIN.model_copy(update={"node_selector": {"accelerator": "nvidia"}}), True),
        (PLUGIN.model_copy(update={"node_selector": {"agentpool": "other"}}), False),
        (PLUGIN.model_copy(update={"tolerations": ()}), False),
        (PLUGIN.model_copy(update={"name": "kube-system/nvidia-device-plugin-gpu"}), False),
    ],
)
def test_a_second_device_plugin_is_found_where_it_would_run_on_the_pool(
    plugin: DevicePluginFacts, is_in_the_way: bool
) -> None:
    found = faults(inside(device_plugins=(plugin,)))
    assert [("devicePlugin: false" in fault) for fault in found] == [True] * is_in_the_way
    off = settings(WITH_METRICS, gpuPool={"devicePlugin": False})
    assert faults(inside(device_plugins=(plugin,)), off) == []


def test_a_device_plugin_with_an_affinity_is_only_warned_of() -> None:
    plugin = PLUGIN.model_copy(update={"has_affinity": True})
    (warning,) = checked(inside(device_plugins=(plugin,))).warnings
    assert "devicePlugin: false" in warning


def test_the_gpu_operator_takes_the_place_of_the_device_plugin() -> None:
    (fault,) = faults(inside(gpu_operator=True, device_plugins=(PLUGIN,)))
    assert "devicePlugin: false" in fault
    assert "driver: None" in fault


def test_a_pool_whose_gpus_aks_manages_is_said_with_the_setting_that_uses_it() -> None:
    pool = PoolFacts(name="managed", count=1, managed_gpu=True)
    cluster = CLUSTER.model_copy(update={"pools": (*CLUSTER.pools, pool)})
    (warning,) = checked(with_facts(cluster=cluster)).warnings
    assert "gpuobs:gpuPool: { enabled: false }" in warning


def test_a_policy_that_denies_the_agents_pods_is_found_before() -> None:
    survey = inside(policies=("azurepolicy-k8sazurev2noprivilege-1",))
    (fault,) = faults(survey)
    assert "azurepolicy-k8sazurev2noprivilege-1" in fault
    assert "excludedNamespaces" in fault
    assert faults(survey, deployed={Own.EXTENSION}) == []


# --- who collects metrics ----------------------------------------------------------------------

BY_HAND = f"{GROUP}/providers/Microsoft.Insights/dataCollectionRules/MSProm-westeurope-aks"


@pytest.mark.parametrize(
    ("collect", "others", "deployed", "collects"),
    [
        ("auto", (), NOTHING, True),
        ("auto", (BY_HAND,), NOTHING, False),
        ("auto", (BY_HAND,), {Own.COLLECTION_RULE}, True),
        ("auto", (BY_HAND,), EVERYTHING, True),
        (True, (BY_HAND,), NOTHING, True),
        (False, (), {Own.COLLECTION_RULE}, False),
    ],
)
def test_a_second_rule_is_made_only_where_it_is_asked_for_and_what_was_made_stays(
    collect: object, others: tuple[str, ...], deployed: Container[str], collects: bool
) -> None:
    existing = {"name": "amw-dev", "resourceGroup": "rg-dev"}
    wanted = settings(
        prometheus={"azureMonitorWorkspace": {"existing": existing, "collect": collect}}
    )
    found = checked(with_facts(other_collection_rules=others), wanted, deployed)
    assert found.collects is collects
    warned = [one for one in found.warnings if "collect: false" in one]
    assert bool(warned) is (collects and bool(others))


# --- an operation in progress ------------------------------------------------------------------


def test_a_preview_only_warns_of_an_upgrade_that_an_update_waits_for() -> None:
    upgrading: ClusterFacts = CLUSTER.model_copy(update={"provisioning_state": "Upgrading"})
    survey = with_facts(cluster=upgrading)
    (warning,) = checked(survey, preview=True).warnings
    assert "Upgrading" in warning
    assert "`pulumi up` waits" in warning
    (fault,) = faults(survey)
    assert "Upgrading" in fault


def own_endpoint(**changes: Any) -> Survey:
    """This stack's own endpoint, which the engine does not know."""
    facts = {
        "id": f"{GRAFANA_ID}/managedPrivateEndpoints/{NAMES.private_endpoint}",
        "name": NAMES.private_endpoint,
        "private_link_id": f"{LINK}/providers/Microsoft.Network/privateLinkServices/"
        f"{NAMES.private_link}",
        "request_message": NAMES.request_message,
        "provisioning_state": "Creating",
        **changes,
    }
    return with_facts(endpoints=(EndpointFacts.model_validate(facts),))


def test_an_endpoint_that_asks_with_this_stacks_message_is_taken_over() -> None:
    for state in ("Creating", "Succeeded"):
        found = checked(own_endpoint(provisioning_state=state))
        assert found.own_endpoint.endswith(f"/managedPrivateEndpoints/{NAMES.private_endpoint}")
    known = checked(own_endpoint(), deployed={Own.PRIVATE_ENDPOINT})
    assert known.own_endpoint == checked(own_endpoint(), deployed=EVERYTHING).own_endpoint == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"provisioning_state": "Failed"}, "has failed"),
        ({"private_link_id": f"{LINK}/providers/X/y/other"}, "not what the settings ask for now"),
        ({"name": "before"}, "not what the settings ask for now"),
    ],
)
def test_one_of_an_interrupted_run_that_does_not_fit_is_named_with_the_line_that_deletes_it(
    changes: dict[str, str], words: str
) -> None:
    (fault,) = faults(own_endpoint(**changes))
    assert words in fault
    assert "az resource delete --ids" in fault


def test_an_endpoint_with_the_message_of_another_stack_is_not_taken_over() -> None:
    assert checked(own_endpoint(request_message="gpuobs gpuobs prod 1")).own_endpoint == ""


def own_pool(**changes: Any) -> Survey:
    """This stack's own GPU pool, which the engine does not know."""
    facts = {
        "name": "gpu",
        "vm_size": settings(WITH_METRICS).gpu_pool.vm_size,
        "tags": {"gpuobs-stack": NAMES.request_message},
        "provisioning_state": "Creating",
        **changes,
    }
    pools = (*CLUSTER.pools, PoolFacts.model_validate(facts))
    return with_facts(cluster=CLUSTER.model_copy(update={"pools": pools}))


def test_a_pool_with_this_stacks_tag_is_taken_over() -> None:
    for state in ("Creating", "Succeeded"):
        found = checked(own_pool(provisioning_state=state))
        assert found.own_pool == f"{CLUSTER_ID}/agentPools/gpu"
    assert checked(own_pool(), deployed={Own.GPU_POOL}).own_pool == ""
    assert checked(own_pool(), deployed=EVERYTHING).own_pool == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"provisioning_state": "Failed"}, "has failed"),
        ({"vm_size": "Standard_NC4as_T4_v3"}, "not what the settings ask for now"),
        ({"tags": {"gpuobs-stack": "gpuobs gpuobs prod 1"}}, "there is a pool of that name"),
        ({"tags": {}}, "there is a pool of that name"),
    ],
)
def test_a_pool_that_does_not_fit_or_is_not_this_stacks_is_named_with_the_line_that_deletes_it(
    changes: dict[str, Any], words: str
) -> None:
    (fault,) = faults(own_pool(**changes))
    assert words in fault
    assert "az resource delete --ids" in fault


OWN_EXTENSION = EXTENSION.model_copy(
    update={"name": settings(WITH_METRICS).inspektor_gadget.name, "provisioning_state": "Creating"}
)


def test_an_extension_in_the_namespace_that_this_stack_made_for_it_is_taken_over() -> None:
    deployed = {Own.NAMESPACE}
    found = checked(with_facts(installed=OWN_EXTENSION), deployed=deployed)
    assert found.own_extension == OWN_EXTENSION.id
    deployed = {Own.NAMESPACE, Own.EXTENSION}
    assert checked(with_facts(installed=OWN_EXTENSION), deployed=deployed).own_extension == ""


@pytest.mark.parametrize(
    ("changes", "deployed"),
    [
        ({}, NOTHING),
        ({"name": "another"}, {Own.NAMESPACE}),
        ({"provisioning_state": "Failed", "message": "no"}, {Own.NAMESPACE}),
    ],
)
def test_any_other_extension_is_named_with_the_line_that_deletes_it(
    changes: dict[str, str], deployed: Container[str]
) -> None:
    survey = with_facts(installed=OWN_EXTENSION.model_copy(update=changes))
    (fault,) = faults(survey, deployed=deployed)
    assert "is installed already" in fault
    assert "az resource delete --ids" in fault
    assert ("has failed: no" in fault) is ("message" in changes)


def test_an_update_waits_until_what_a_killed_run_was_making_is_made() -> None:
    request = survey_request(settings(WITH_METRICS), NAMES, PROVIDER, deployed=NOTHING)
    assert "node pool gpu, which is Creating" in operation_in_progress(own_pool(), request)
    own = OWN_EXTENSION.model_copy(update={"id": request.extension_id})
    said = operation_in_progress(with_facts(installed=own), request)
    assert said == f"extension {own.name}, which is Creating"
    assert operation_in_progress(own_pool(provisioning_state="Succeeded"), request) == ""
