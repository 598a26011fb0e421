"""What several rooms must agree on is spelled in one product file, so it cannot drift apart."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract import agent, azure, grafana
from contract.azure import Role
from tests.rooms import PRODUCT

ROOT = Path(__file__).parents[2]

SHARED_FACTS = {
    "type of AKS clusters": azure.MANAGED_CLUSTER,
    "type of Grafana workspaces": azure.GRAFANA,
    "type of Private Link Services": azure.PRIVATE_LINK_SERVICE,
    "type of Azure Monitor workspaces": azure.MONITOR_WORKSPACE,
    "type of data collection rules": azure.DATA_COLLECTION_RULE,
    "type of role assignments": azure.ROLE_ASSIGNMENT,
    "type of role definitions": azure.ROLE_DEFINITION,
    "type of extensions": azure.EXTENSION,
    "type of rule groups": azure.RULE_GROUP,
    "type of action groups": azure.ACTION_GROUP,
    "collection of managed private endpoints": azure.MANAGED_ENDPOINTS,
    "API version for AKS clusters": azure.MANAGED_CLUSTER_API,
    "API version for Grafana workspaces": azure.GRAFANA_API,
    "API version for Private Link Services": azure.PRIVATE_LINK_SERVICE_API,
    "API version for Azure Monitor workspaces": azure.MONITOR_WORKSPACE_API,
    **{f"id of the role {role.role_name}": role.value for role in Role},
    "where Azure Resource Manager is": azure.ARM_URL,
    "audience of Grafana": azure.GRAFANA_AUDIENCE,
    "audience of AKS API servers": azure.AKS_SERVER_AUDIENCE,
    "variable with another audience of Grafana": azure.GRAFANA_AUDIENCE_VARIABLE,
    "type of Pyroscope data sources": grafana.PYROSCOPE,
    "type of Prometheus data sources in Azure": grafana.AZURE_PROMETHEUS,
    "tag of a dashboard's owner": grafana.OWNER_TAG_PREFIX,
    "tag of a dashboard's folder": grafana.FOLDER_TAG_PREFIX,
    "type of the agent's extension": agent.EXTENSION_TYPE,
    "port of Pyroscope": str(agent.PYROSCOPE_PORT),
    "metric of allocated bytes": agent.ALLOCATED,
    "metric of freed bytes": agent.FREED,
    "metric of implicitly freed bytes": agent.FREED_IMPLICITLY,
    "sample type of the profiles": agent.SAMPLE_TYPE,
    "label of a pod in metrics": agent.METRICS_POD,
    "label of a pod in profiles": agent.PROFILES_POD,
    "label of a namespace": agent.NAMESPACE_LABEL,
    "label of a process in profiles": agent.PROFILES_PROCESS,
}


def product_files() -> Iterator[Path]:
    for room in PRODUCT:
        yield from sorted((ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("fact", SHARED_FACTS)
def test_a_shared_fact_is_spelled_in_one_file(fact: str) -> None:
    literal = re.compile(rf"(?<![\w.]){re.escape(SHARED_FACTS[fact])}(?![\w])")
    found = [path for path in product_files() if literal.search(path.read_text())]
    assert [path.parent.name for path in found] == ["contract"], found


@pytest.mark.parametrize("namespace", ["Microsoft"])
def test_no_room_spells_a_resource_provider(namespace: str) -> None:
    literal = re.compile(rf"\b{namespace}\.[A-Z][A-Za-z]+\b")
    found = [path for path in product_files() if literal.search(path.read_text())]
    assert [path.relative_to(ROOT) for path in found] == [Path("contract/azure.py")]


def test_no_room_spells_the_namespace_of_the_agent() -> None:
    literal = re.compile(rf"(--namespace |[\"`]){agent.NAMESPACE}\b")
    for path in product_files():
        if path != ROOT / "contract" / "agent.py":
            code = re.sub(r'"""(?s:.*?)"""', "", path.read_text())
            assert not literal.search(code), path


OF_A_TYPE = re.compile(
    rf"(?i)type\w*[\"')\]]*\s*(:|=|==|!=|,|in|not in)\s*[\[({{]*\"{grafana.PROMETHEUS}\""
)
"""The type of Grafana's own Prometheus source; the word alone also names other things."""


def test_the_type_of_grafanas_own_prometheus_source_is_spelled_in_one_file() -> None:
    for spelled in ('{"type": "prometheus"}', 'type="prometheus"', 'kind_type in ("prometheus",)'):
        assert OF_A_TYPE.search(spelled), spelled
    for path in product_files():
        if path != ROOT / "contract" / "grafana.py":
            assert not OF_A_TYPE.search(path.read_text()), path
