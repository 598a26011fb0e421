"""The rules of `pyroscope.mode` and `pyroscope.components`."""

import pytest

from contract.microservices import ServerComponent, ServerMode
from infra.settings import PyroscopeSettings
from tests.unit.stack_files import faults, settings

BLOB: dict[str, object] = {"storage": {"blob": {}}}
DISTRIBUTED: dict[str, object] = {**BLOB, "mode": "distributed"}


def pyroscope(**changes: object) -> PyroscopeSettings:
    return settings(pyroscope={**DISTRIBUTED, **changes}).pyroscope


def test_one_server_is_the_default_and_the_charts_sizes_are_those_of_micro_services() -> None:
    assert settings().pyroscope.mode is ServerMode.SINGLE
    wanted = pyroscope().components.wanted
    assert set(wanted) == set(ServerComponent)
    assert wanted[ServerComponent.INGESTER].replicas == 3
    assert wanted[ServerComponent.INGESTER].resources == {
        "requests": {"cpu": "1", "memory": "8Gi"},
        "limits": {"cpu": "4", "memory": "16Gi"},
    }


def test_a_component_has_what_the_stack_file_says_and_else_the_charts() -> None:
    own = {"requests": {"memory": "2Gi"}}
    found = pyroscope(
        components={"queryFrontend": {"replicas": 5}, "storeGateway": {"resources": own}}
    ).components.wanted
    assert found[ServerComponent.QUERY_FRONTEND].replicas == 5
    assert found[ServerComponent.QUERY_FRONTEND].resources["requests"]["cpu"] == "100m"
    assert found[ServerComponent.STORE_GATEWAY].replicas == 3
    assert found[ServerComponent.STORE_GATEWAY].resources == own


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ({"mode": "distributed"}, "mode"),
        ({"mode": "distributed", "storage": {"disk": {}}}, "mode"),
        ({**DISTRIBUTED, "mode": "both"}, "mode"),
        ({**DISTRIBUTED, "resources": {"requests": {"cpu": "1"}}}, "resources"),
        ({"components": {}}, "components"),
        ({**BLOB, "components": {"querier": {"replicas": 2}}}, "components"),
        (
            {**DISTRIBUTED, "components": {"ingester": {"replicas": 2}}},
            "components.ingester.replicas",
        ),
        (
            {**DISTRIBUTED, "components": {"storeGateway": {"replicas": 1}}},
            "components.storeGateway.replicas",
        ),
        (
            {**DISTRIBUTED, "components": {"querier": {"replicas": 0}}},
            "components.querier.replicas",
        ),
        ({**DISTRIBUTED, "components": {"adHocProfiles": {}}}, "components.adHocProfiles"),
        (
            {**DISTRIBUTED, "components": {"compactor": {"resources": {"requests": {"cpu": "x"}}}}},
            "components.compactor.resources.requests.cpu",
        ),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(written: dict[str, object], path: str) -> None:
    assert set(faults(pyroscope=written)) == {f"pyroscope.{path}"}


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"components": {"ingester": {"replicaCount": 9}}}, "components"),
        ({"extraArgs": {"distributor.replication-factor": "1"}}, "extraArgs"),
        ({"extraArgs": {"memberlist.cluster-label": "mine"}}, "extraArgs"),
        (
            {"structuredConfig": {"store_gateway": {"sharding_ring": {"replication_factor": 1}}}},
            "structuredConfig.store_gateway.sharding_ring.replication_factor",
        ),
    ],
)
def test_what_the_components_must_agree_on_is_the_products(
    values: dict[str, object], path: str
) -> None:
    found = faults(pyroscope={**DISTRIBUTED, "values": {"pyroscope": values}})
    assert all(one.startswith(f"pyroscope.values.pyroscope.{path}") for one in found)
    assert len(found) == 1
