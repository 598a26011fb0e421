"""The workspace for metrics, and what brings them there."""

from dataclasses import replace
from typing import Any

import pulumi
import pytest

from components.managed_prometheus import (
    CollectionArgs,
    ExistingWorkspaceArgs,
    ManagedPrometheus,
    ManagedPrometheusArgs,
)
from tests.unit import answers
from tests.unit.recording import Recorded, record

WORKSPACE = "azure-native:monitor:AzureMonitorWorkspace"
ENDPOINT = "azure-native:monitor:DataCollectionEndpoint"
RULE = "azure-native:monitor:DataCollectionRule"
ASSOCIATION = "azure-native:monitor:DataCollectionRuleAssociation"
STASH = "pulumi:index:Stash"
ARGS = ManagedPrometheusArgs(
    resource_group_name="rg-dev",
    location="westeurope",
    workspace_name="amw-new",
    collection=CollectionArgs(
        cluster_id=answers.CLUSTER_ID,
        cluster_location="westeurope",
        private_cluster=False,
        configuration_endpoint_name="dce-config-dev",
        endpoint_name="dce-dev",
        rule_name="dcr-dev",
    ),
    tags={"a": "b"},
)
EXISTING = ExistingWorkspaceArgs(
    id=answers.WORKSPACE_ID, location="northeurope", query_endpoint="https://query"
)


def deploy(**changes: Any) -> Recorded:
    args = replace(ARGS, **changes)
    return record(
        lambda: ManagedPrometheus("prometheus", args), answer_resource=answers.Azure().resource
    )


def test_a_new_workspace_answers_where_it_is_asked() -> None:
    recorded = deploy()
    assert recorded.only(WORKSPACE).inputs == {
        "azureMonitorWorkspaceName": "amw-new",
        "resourceGroupName": "rg-dev",
        "location": "westeurope",
        "tags": {"a": "b"},
    }
    assert recorded.outputs["prometheus"] == {
        "workspaceId": answers.WORKSPACE_ID,
        "queryEndpoint": answers.QUERY_ENDPOINT,
    }


def test_an_existing_workspace_is_left_alone_and_its_region_is_the_rules() -> None:
    recorded = deploy(existing=EXISTING, workspace_name=None)
    assert recorded.of_type(WORKSPACE) == []
    assert recorded.only(RULE).inputs["location"] == "northeurope"
    assert recorded.named("prometheus-endpoint").inputs["location"] == "northeurope"
    assert recorded.outputs["prometheus"]["queryEndpoint"] == "https://query"


def test_the_rule_forwards_prometheus_metrics_through_the_endpoint_into_the_workspace() -> None:
    recorded = deploy()
    rule = recorded.only(RULE)
    assert rule.parent == "prometheus"
    assert rule.inputs["kind"] == "Linux"
    assert rule.inputs["dataCollectionEndpointId"] == "prometheus-endpoint-id"
    (forwarder,) = rule.inputs["dataSources"]["prometheusForwarder"]
    (account,) = rule.inputs["destinations"]["monitoringAccounts"]
    assert account["accountResourceId"] == answers.WORKSPACE_ID
    assert rule.inputs["dataFlows"] == [
        {"streams": ["Microsoft-PrometheusMetrics"], "destinations": [account["name"]]}
    ]
    assert forwarder["streams"] == ["Microsoft-PrometheusMetrics"]


@pytest.mark.handles("association-with-both")
def test_the_rule_and_the_endpoint_are_associated_apart() -> None:
    collection = replace(ARGS.collection, private_cluster=True) if ARGS.collection else None
    rule, endpoint = sorted(
        deploy(collection=collection).of_type(ASSOCIATION),
        key=lambda one: "dataCollectionRuleId" not in one.inputs,
    )
    assert rule.inputs == {
        "associationName": "dcr-dev",
        "resourceUri": answers.CLUSTER_ID,
        "dataCollectionRuleId": "prometheus-rule-id",
    }
    assert endpoint.inputs == {
        "associationName": "configurationAccessEndpoint",
        "resourceUri": answers.CLUSTER_ID,
        "dataCollectionEndpointId": "prometheus-endpoint-id",
    }


@pytest.mark.parametrize("region", ["westeurope", "West Europe"])
def test_a_public_cluster_in_the_workspaces_region_needs_no_endpoint_of_its_own(
    region: str,
) -> None:
    recorded = deploy(existing=replace(EXISTING, location=region), workspace_name=None)
    assert recorded.only(ASSOCIATION).inputs["associationName"] == "dcr-dev"
    assert recorded.only(ENDPOINT).inputs["dataCollectionEndpointName"] == "dce-dev"


def test_a_cluster_in_another_region_is_configured_through_an_endpoint_there() -> None:
    recorded = deploy(existing=EXISTING, workspace_name=None)
    there = recorded.named("prometheus-configuration-endpoint").inputs
    assert there["dataCollectionEndpointName"] == "dce-config-dev"
    assert there["location"] == "westeurope"
    association = recorded.named("prometheus-endpoint-association").inputs
    assert association["dataCollectionEndpointId"] == "prometheus-configuration-endpoint-id"
    rule = recorded.only(RULE).inputs
    assert rule["dataCollectionEndpointId"] == "prometheus-endpoint-id"


def test_without_collection_there_is_neither_rule_nor_association() -> None:
    recorded = deploy(collection=None)
    assert [one.type for one in recorded.resources if one.custom] == [WORKSPACE]


def test_where_nothing_is_made_something_still_holds_the_order() -> None:
    recorded = deploy(existing=EXISTING, workspace_name=None, collection=None)
    assert [one.type for one in recorded.resources if one.custom] == [STASH]


def test_the_type_token_never_changes() -> None:
    assert ManagedPrometheus.TYPE == "gpuobs:index:ManagedPrometheus"


def test_whatever_uses_an_endpoint_or_a_rule_is_replaced_with_it_and_deleted_before_it() -> None:
    """By a name, which is fixed: the engine then deletes in the order of the properties."""
    assert ARGS.collection is not None
    recorded = deploy(collection=replace(ARGS.collection, private_cluster=True))
    for name, key, used in (
        ("prometheus-rule", "dataCollectionRuleName", "prometheus-endpoint"),
        ("prometheus-rule-association", "associationName", "prometheus-rule"),
        ("prometheus-endpoint-association", "associationName", "prometheus-endpoint"),
    ):
        assert used in recorded.named(name).property_depends_on[key], name


@pytest.mark.parametrize("metrics", [None, {}, {"prometheusQueryEndpoint": ""}])
def test_a_workspace_without_a_query_endpoint_is_reported_and_not_passed_on(
    metrics: object,
) -> None:
    with pytest.raises(pulumi.RunError, match="states no prometheus query endpoint"):
        record(
            lambda: ManagedPrometheus("prometheus", ARGS),
            answer_resource=lambda kind, name, inputs: {
                **answers.Azure().resource(kind, name, inputs),
                **({"metrics": metrics} if kind == WORKSPACE else {}),
            },
        )
