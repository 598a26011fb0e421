"""Existing resources by name and group or by ARM id, also in another subscription."""

from typing import Any

import pytest

from contract.messages.survey import GrafanaFacts, Presence
from infra.faults import ConfigurationError
from infra.names import names_for
from infra.preflight import evaluate, survey_request
from infra.settings import Settings
from tests.unit import answers
from tests.unit.stack_files import EXISTING, error, settings, stack
from tests.unit.test_preflight import GOOD, PROVIDER, SUBSCRIPTION
from tests.unit.test_program import Sections, dev

OTHER = "99999999-9999-4999-8999-999999999999"
PROVIDERS = f"/subscriptions/{OTHER}/resourceGroups/rg-other/providers"
CLUSTER = f"{PROVIDERS}/Microsoft.ContainerService/managedClusters/aks-other"
GRAFANA = f"{PROVIDERS}/Microsoft.Dashboard/grafana/grafana-other"
WORKSPACE = f"{PROVIDERS}/Microsoft.Monitor/accounts/amw-other"


def asked(wanted: Settings) -> dict[str, Any]:
    return survey_request(wanted, names_for("gpuobs", "dev"), PROVIDER).model_dump()


def test_an_id_names_the_resource_its_group_and_its_subscription() -> None:
    request = asked(
        settings(
            {
                "cluster": {"existing": {"id": CLUSTER}},
                "grafana": {"existing": {"id": GRAFANA}},
                "prometheus": {"azureMonitorWorkspace": {"existing": {"id": WORKSPACE}}},
            }
        )
    )
    assert request["cluster_id"] == CLUSTER
    assert request["grafana_id"] == GRAFANA
    assert request["workspace_id"] == WORKSPACE
    # The stack's own resources go to the cluster's group, unless a stack file says another.
    assert request["collection_rule_id"].startswith(f"{PROVIDERS}/Microsoft.Insights/")


def test_a_group_of_the_stacks_own_is_in_the_stacks_subscription() -> None:
    own = {"azure": {"resourceGroup": {"name": "rg-own"}}, "cluster": {"existing": {"id": CLUSTER}}}
    existing = {"id": WORKSPACE}
    request = asked(
        settings(stack(own), prometheus={"azureMonitorWorkspace": {"existing": existing}})
    )
    assert request["collection_rule_id"].startswith(
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-own/"
    )


@pytest.mark.parametrize(
    ("existing", "words"),
    [
        ({}, "`name` and `resourceGroup`, or `id`"),
        ({"name": "aks"}, "`name` and `resourceGroup`, or `id`"),
        ({"id": CLUSTER, "name": "aks"}, "either `id`, or `name` and `resourceGroup`"),
        ({"id": GRAFANA}, "the ARM id of a Microsoft.ContainerService/managedClusters"),
        ({"id": "aks-dev"}, "an ARM id"),
    ],
)
def test_what_names_no_resource_or_two_is_refused(existing: dict[str, str], words: str) -> None:
    problem = error({**EXISTING, "cluster": {"existing": existing}})
    assert problem is not None
    (fault,) = problem.faults
    assert words in fault.rule
    assert fault.path.startswith("gpuobs:cluster.existing")


@pytest.mark.parametrize("length", [2, 30])
def test_an_existing_grafana_has_2_to_30_characters(length: int) -> None:
    existing = {"name": "g" * length, "resourceGroup": "rg"}
    assert error({**EXISTING, "grafana": {"existing": existing}}) is None
    existing = {"name": "g" * 31, "resourceGroup": "rg"}
    assert error({**EXISTING, "grafana": {"existing": existing}}) is not None


TENANT = "88888888-8888-4888-8888-888888888888"
WRONG_TENANT = (
    "InvalidAuthenticationTokenTenant: The access token is from the wrong issuer. It must match "
    f"the tenant 'https://sts.windows.net/{TENANT}/' associated with this subscription."
)


def test_another_tenant_is_refused_with_the_reason_for_the_resource_that_is_there() -> None:
    wanted = settings(grafana={"existing": {"id": GRAFANA}})
    grafana = GrafanaFacts(presence=Presence.UNAUTHENTICATED, detail=WRONG_TENANT)
    survey = GOOD.model_copy(update={"grafana": grafana})
    with pytest.raises(ConfigurationError) as raised:
        evaluate(wanted, survey, survey_request(wanted, names_for("gpuobs", "dev"), PROVIDER))
    (fault,) = raised.value.faults
    assert "grafana-other" in fault.path
    assert f"another ({TENANT})" in fault.rule
    assert "of the same tenant" in fault.fix


def in_another_subscription(config: Sections) -> None:
    config["cluster"]["existing"] = {"id": CLUSTER}


def test_what_goes_to_another_subscription_has_a_provider_for_it() -> None:
    recorded = dev(in_another_subscription)
    provider = recorded.named(f"azure-{OTHER}")
    assert provider.inputs["subscriptionId"] == OTHER
    elsewhere = (
        "azure-native:containerservice:AgentPool",
        "azure-native:kubernetesconfiguration:Extension",
        "azure-native:monitor:DataCollectionRule",
    )
    for kind in elsewhere:
        assert recorded.only(kind).provider == f"azure-{OTHER}", kind
    endpoint = recorded.only("azure-native:dashboard:ManagedPrivateEndpoint")
    assert endpoint.provider == ""
    assert endpoint.inputs["privateLinkResourceId"].startswith(f"/subscriptions/{OTHER}/")


def test_without_one_there_is_no_provider_but_the_default() -> None:
    assert [one for one in dev().names if one.startswith("azure")] == []
    assert answers.SUBSCRIPTION != OTHER
