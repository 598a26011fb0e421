"""Arguments of an underlying resource that a component does not have: added, or refused."""

import ast
import importlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aks_cluster import AksCluster, AksClusterArgs, NewClusterArgs
from components.alerts import Alerts, AlertsArgs, RuleArgs
from components.chart import ChartArgs
from components.device_plugin import DevicePlugin, DevicePluginArgs
from components.further_args import FurtherArgs
from components.gpu_node_pool import GpuNodePool, GpuNodePoolArgs
from components.grafana_data_sources import (
    GrafanaDataSources,
    GrafanaDataSourcesArgs,
    PrometheusSourceArgs,
    PyroscopeSourceArgs,
)
from components.grafana_private_endpoint import GrafanaPrivateEndpoint, GrafanaPrivateEndpointArgs
from components.grafana_role_assignments import (
    GrafanaRoleAssignments,
    GrafanaRoleAssignmentsArgs,
    PrincipalArgs,
)
from components.grafana_target import GrafanaTargetArgs, OwnerArgs
from components.grafana_workspace import GrafanaWorkspace, GrafanaWorkspaceArgs, NewGrafanaArgs
from components.inspektor_gadget import InspektorGadget, InspektorGadgetArgs
from components.managed_prometheus import (
    CollectionArgs,
    ManagedPrometheus,
    ManagedPrometheusArgs,
)
from components.private_link import PrivateLinkArgs
from components.private_link_role import PrivateLinkRole, PrivateLinkRoleArgs
from components.profile_storage import ProfileStorage
from components.pyroscope import Pyroscope, PyroscopeArgs
from components.pyroscope_elsewhere import PyroscopeElsewhere, PyroscopeElsewhereArgs
from contract.choices import ClusterCredentials, GpuDriver, OsSku, PrincipalType
from tests.unit import answers
from tests.unit.recording import Recorded, record
from tests.unit.test_profile_storage import ARGS as PROFILE_STORAGE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/maintainers/components.md"
PERSON = PrincipalArgs(id="55555555-5555-4555-8555-555555555555", type=PrincipalType.USER)
PYROSCOPE_SOURCE = PyroscopeSourceArgs(name="p", uid="p", url="http://10.0.0.4", endpoint_id="e")
PROMETHEUS_SOURCE = PrometheusSourceArgs(
    name="m", uid="m", url="https://example.com", managed_identity=True
)

ARGS: dict[str, Any] = {
    "AksClusterArgs": AksClusterArgs(
        cluster_name="aks",
        resource_group_name="rg",
        location="westeurope",
        node_resource_group="nodes",
        credentials=ClusterCredentials.USER,
        new=NewClusterArgs(
            dns_prefix="aks",
            system_pool_vm_size="Standard_D4ds_v5",
            system_pool_count=1,
            azure_monitor_metrics=True,
        ),
    ),
    "GpuNodePoolArgs": GpuNodePoolArgs(
        cluster_name="aks",
        resource_group_name="rg",
        pool_name="gpu",
        vm_size="Standard_NC24ads_A100_v4",
        count=1,
        taints=[],
        labels={},
        os_sku=OsSku.UBUNTU,
        driver=GpuDriver.INSTALL,
        device_plugin=True,
    ),
    "DevicePluginArgs": DevicePluginArgs(pool_name="gpu", taints=[], tag="v0.19.3", sliced=False),
    "ManagedPrometheusArgs": ManagedPrometheusArgs(
        resource_group_name="rg",
        location="westeurope",
        workspace_name="amw",
        collection=CollectionArgs(
            cluster_id="/c",
            cluster_location="westeurope",
            private_cluster=False,
            configuration_endpoint_name="dce-2",
            endpoint_name="dce",
            rule_name="dcr",
        ),
    ),
    "InspektorGadgetArgs": InspektorGadgetArgs(
        cluster_id="/c",
        cluster_name="aks",
        resource_group_name="rg",
        extension_name="gadget",
        release_train="preview",
        auto_upgrade=True,
        azure_monitor_metrics=True,
        settings={},
        create_namespace=True,
        credentials=ClusterCredentials.USER,
    ),
    "PyroscopeArgs": PyroscopeArgs(
        namespace="gadget",
        chart=ChartArgs(chart="charts/pyroscope"),
        image_tag="1.15.0",
        private_link=PrivateLinkArgs(id="/pls", name="pls", visibility=["*"]),
    ),
    "GrafanaWorkspaceArgs": GrafanaWorkspaceArgs(
        workspace_name="grafana",
        resource_group_name="rg",
        location="westeurope",
        subscription_id=answers.SUBSCRIPTION,
        new=NewGrafanaArgs(major_version="12", zone_redundancy=False, deployer=PERSON),
        roles=[],
    ),
    "GrafanaRoleAssignmentsArgs": GrafanaRoleAssignmentsArgs(
        grafana_name="grafana",
        grafana_id=answers.GRAFANA_ID,
        subscription_id=answers.SUBSCRIPTION,
        deployer=PERSON,
    ),
    "PyroscopeElsewhereArgs": PyroscopeElsewhereArgs(namespace="gadget", host="a.example"),
    "PrivateLinkRoleArgs": PrivateLinkRoleArgs(
        group_id="/g", principal_id="p", subscription_id=answers.SUBSCRIPTION
    ),
    "GrafanaPrivateEndpointArgs": GrafanaPrivateEndpointArgs(
        workspace_name="grafana",
        workspace_id=answers.GRAFANA_ID,
        resource_group_name="rg",
        location="westeurope",
        endpoint_name="mpe",
        private_link_id="/pls",
        private_link_location="westeurope",
        request_message="gpuobs",
    ),
    "GrafanaDataSourcesArgs": GrafanaDataSourcesArgs(
        target=GrafanaTargetArgs(endpoint=answers.ENDPOINT, workspace_id=answers.GRAFANA_ID),
        owner=OwnerArgs(cluster_id="/c", project="gpuobs", stack="dev"),
        pyroscope=PYROSCOPE_SOURCE,
        prometheus=PROMETHEUS_SOURCE,
        adopt=False,
    ),
    "AlertsArgs": AlertsArgs(
        resource_group_name="rg",
        location="westeurope",
        workspace_id=answers.WORKSPACE_ID,
        cluster_label="aks",
        rule_group_name="alerts",
        action_group_name="alerts",
        rules=[RuleArgs(alert="A", expression="1")],
        email=["a@example.com"],
    ),
    "ProfileStorageArgs": PROFILE_STORAGE,
}
COMPONENT: dict[str, Callable[..., object]] = {
    f"{one.__name__}Args": one
    for one in (
        AksCluster,
        GpuNodePool,
        ProfileStorage,
        DevicePlugin,
        ManagedPrometheus,
        InspektorGadget,
        Pyroscope,
        GrafanaWorkspace,
        GrafanaRoleAssignments,
        PrivateLinkRole,
        PyroscopeElsewhere,
        GrafanaPrivateEndpoint,
        GrafanaDataSources,
        Alerts,
    )
}
OWNED: dict[tuple[str, str], dict[str, Any]] = {
    ("AksClusterArgs", "cluster_args"): {"network_profile": {"load_balancer_sku": "basic"}},
    ("GpuNodePoolArgs", "pool_args"): {"gpu_profile": {"driver": "None"}},
    ("GpuNodePoolArgs", "device_plugin_args"): {"metadata": {"name": "other"}},
    ("DevicePluginArgs", "daemon_set_args"): {"spec": {"template": {"spec": {"containers": []}}}},
    ("ManagedPrometheusArgs", "workspace_args"): {"location": "northeurope"},
    ("ManagedPrometheusArgs", "endpoint_args"): {"kind": "Windows"},
    ("ManagedPrometheusArgs", "rule_args"): {"data_flows": []},
    ("InspektorGadgetArgs", "extension_args"): {
        "configuration_settings": {"gpuObservability.enabled": "false"}
    },
    ("PyroscopeArgs", "release_args"): {"atomic": True},
    ("GrafanaWorkspaceArgs", "workspace_args"): {"properties": {"api_key": "Enabled"}},
    ("GrafanaWorkspaceArgs", "role_assignment_args"): {"principal_id": "x"},
    ("GrafanaRoleAssignmentsArgs", "assignment_args"): {"scope": "/"},
    ("PyroscopeElsewhereArgs", "service_args"): {"spec": {"type": "ClusterIP"}},
    ("PrivateLinkRoleArgs", "assignment_args"): {"scope": "/"},
    ("GrafanaPrivateEndpointArgs", "endpoint_args"): {"request_message": "x"},
    ("AlertsArgs", "rule_group_args"): {"interval": "PT5M"},
    ("ProfileStorageArgs", "account_args"): {"allow_shared_key_access": True},
    ("AlertsArgs", "action_group_args"): {"group_short_name": "x"},
    ("PyroscopeSourceArgs", "json_data"): {"keepCookies": []},
    ("PrometheusSourceArgs", "json_data"): {"httpMethod": "GET"},
}


def deploy(owner: str, field: str, further: FurtherArgs) -> Recorded:
    """The component of the arguments ``owner``, with ``field`` set."""
    if owner in ("PyroscopeSourceArgs", "PrometheusSourceArgs"):
        sources: Any = ARGS["GrafanaDataSourcesArgs"]
        which = owner.removesuffix("SourceArgs").lower()
        source = replace(getattr(sources, which), **{field: further})
        component, args = GrafanaDataSources, replace(sources, **{which: source})
    else:
        component, args = COMPONENT[owner], replace(ARGS[owner], **{field: further})
    azure = answers.Azure()
    return record(
        lambda: component("it", args, pulumi.ResourceOptions()),
        answer_resource=azure.resource,
        answer_call=azure.call,
    )


def examples() -> Iterator[tuple[str, str, FurtherArgs]]:
    """(class, field, value) of each line of the page's code."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    for statement in ast.parse(code[1]).body:
        assert isinstance(statement, ast.Expr)
        call = statement.value
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        (keyword,) = call.keywords
        assert keyword.arg is not None
        yield call.func.id, keyword.arg, ast.literal_eval(keyword.value)


def hatches() -> Iterator[tuple[str, str]]:
    """Every field of the components' arguments that takes further arguments."""
    for path in sorted((ROOT / "components").glob("*.py")):
        module = importlib.import_module(f"components.{path.stem}")
        for value in vars(module).values():
            if not (
                isinstance(value, type) and is_dataclass(value) and value.__name__.endswith("Args")
            ):
                continue
            for field in fields(value) if value.__module__ == module.__name__ else ():
                if field.name == "json_data" or field.name.endswith("_args"):
                    assert field.type == FurtherArgs | None
                    yield value.__name__, field.name


def leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from leaves(item)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield json.dumps(value)


@pytest.mark.parametrize(("owner", "field", "further"), list(examples()))
def test_what_a_component_has_no_argument_for_reaches_the_resource(
    owner: str, field: str, further: FurtherArgs
) -> None:
    inputs = [one.inputs for one in deploy(owner, field, further).resources if one.custom]
    text = json.dumps(inputs, default=str).replace('\\"', '"').replace(".0", "")
    for leaf in leaves(further):
        assert leaf in text, f"{leaf} of {owner}.{field} is in no resource"


@pytest.mark.parametrize(("owner", "field"), list(OWNED))
def test_what_the_component_sets_itself_is_refused_by_name(owner: str, field: str) -> None:
    further = OWNED[owner, field]
    with pytest.raises(ValueError, match="set by the component itself") as refused:
        deploy(owner, field, further)
    assert next(iter(further)) in str(refused.value)


def test_an_argument_that_the_resource_does_not_have_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match=r"no argument 'upgrade_setings'.*'upgrade_settings'"):
        deploy("GpuNodePoolArgs", "pool_args", {"upgrade_setings": {}})


def test_every_component_has_the_hatch_and_the_page_an_example_of_each() -> None:
    shown = {(owner, field) for owner, field, _ in examples()}
    assert shown == set(hatches()) == set(OWNED)
    without = {
        path.stem
        for path in (ROOT / "components").glob("*.py")
        if "pulumi.ComponentResource)" in path.read_text()
        # The release of Pyroscope, and its arguments, are in a module of their own.
        and not any(
            "FurtherArgs" in one.read_text() for one in path.parent.glob(f"{path.stem}*.py")
        )
    }
    assert without == {"grafana_dashboard"}, "its JSON is an argument as a whole"
