"""The Azure CLI itself walks the manual procedure on the simulated Azure, and cleans up after it.

What has a command of the CLI's own is done with that; Grafana's and the extension's commands are in
extensions of the CLI that no package index has, so those steps are ``az rest``. Helm and kubectl
are no part of it: Pyroscope is installed through the simulated API server.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from simulator.seed import CALLER_ID, SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.simulator.azure import (
    CLUSTER,
    ENDPOINT,
    EXTENSION,
    GRAFANA,
    PLS,
    WORKSPACE,
    Azure,
    Kubernetes,
    azure_on,
)
from tools.provide import AZURE_CLI, provide

pytestmark = pytest.mark.azcli

IN_GROUP: Final = ("--resource-group", "rg-dev")
IN_CLUSTER: Final = (*IN_GROUP, "--cluster-name", "aks-dev")
OF_LINK: Final = ("--resource-group", "MC_rg-dev_aks-dev_westeurope")
PLS_NAME: Final = PLS.rpartition("/")[2]
GRAFANA_AUDIENCE: Final = "ce34e7e5-485f-4d76-964f-b3d2b16d1e4f"


class Cli:
    """``az`` with a configuration of its own, on one simulated Azure."""

    def __init__(self, azure: Azure, folder: Path) -> None:
        self._command = str(provide(AZURE_CLI))
        self.arm_url = azure.server.arm_url
        self._environment = {
            **azure.server.environment,
            "AZURE_CONFIG_DIR": str(folder),
            "AZURE_CORE_COLLECT_TELEMETRY": "false",
            "AZURE_CORE_ONLY_SHOW_ERRORS": "true",
            "AZURE_CORE_OUTPUT": "json",
        }

    def __call__(self, *arguments: str) -> object:
        """What the command prints, as JSON; None for nothing."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"az {' '.join(arguments)}: {done.stderr}"
        return json.loads(done.stdout) if done.stdout.strip() else None

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """The command, ended in whatever way."""
        environment = {**os.environ, **self._environment}
        return subprocess.run(
            [self._command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def rest(self, method: str, path: str, body: object = None, *more: str) -> object:
        """``az rest`` on a path of ARM's."""
        content = ("--body", json.dumps(body)) if body is not None else ()
        return self("rest", "--method", method, "--url", path, *content, *more)


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azure]:
    with azure_on(tmp_path_factory.mktemp("simulator")) as started:
        yield started


@pytest.fixture(scope="module")
def az(azure: Azure, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = Cli(azure, tmp_path_factory.mktemp("azure-cli"))
    # The one line: what else there is of a cloud it asks ARM for.
    cli("cloud", "register", "--name", "simulated", "--endpoint-resource-manager", cli.arm_url)
    cli("cloud", "set", "--name", "simulated")
    cli("login", "--identity")
    return cli


def test_signing_in_finds_the_subscription(az: Cli) -> None:
    account = as_object(az("account", "show"))
    assert account["id"] == SUBSCRIPTION_ID
    assert az("group", "exists", "--name", "rg-dev") is True
    assert az("group", "exists", "--name", "rg-none") is False


def test_the_prerequisites_are_read(az: Cli) -> None:
    provider = ("--namespace", "Microsoft.KubernetesConfiguration")
    assert as_object(az("provider", "show", *provider))["registrationState"] == "Registered"
    versions = as_object(az("aks", "get-versions", "--location", "westeurope"))
    assert "1.33" in [item["version"] for item in as_objects(versions["values"])]
    query = ("--query", "[?name.value=='StandardNCADSA100v4Family'].limit | [0]")
    assert az("vm", "list-usage", "--location", "westeurope", *query) == "350"


def test_the_procedure_is_walked_from_the_pool_to_the_data_source(az: Cli, azure: Azure) -> None:
    size = ("--node-vm-size", "Standard_NC24ads_A100_v4", "--node-count", "1")
    taints = ("--node-taints", "sku=gpu:NoSchedule")
    az("aks", "nodepool", "add", *IN_CLUSTER, "--name", "gpu", *size, *taints)
    settings = {"gpuObservability.enabled": "true", "azureMonitor.enabled": "true"}
    extension = {
        "extensionType": "microsoft.inspektorgadget",
        "releaseTrain": "preview",
        "configurationSettings": settings,
    }
    az.rest("put", f"{EXTENSION}?api-version=2023-05-01", {"properties": extension})
    cluster = Kubernetes(azure)
    cluster.release()
    link = as_object(az("network", "private-link-service", "show", *OF_LINK, "--name", PLS_NAME))
    endpoint = {"privateLinkResourceId": link["id"], "privateLinkResourceRegion": "westeurope"}
    az.rest(
        "put",
        f"{ENDPOINT}?api-version=2023-09-01",
        {"location": "westeurope", "properties": endpoint},
    )
    az("resource", "wait", "--ids", ENDPOINT, "--created")
    pending = ("--query", "privateEndpointConnections[0].name")
    name = as_text(
        az("network", "private-link-service", "show", *OF_LINK, "--name", PLS_NAME, *pending)
    )
    assert name.startswith("grafana-grafana-dev-pyroscope-mpe")
    approve = ("--connection-status", "Approved", "--name", name, "--service-name", PLS_NAME)
    az("network", "private-link-service", "connection", "update", *OF_LINK, *approve)
    az.rest("post", f"{GRAFANA}/refreshManagedPrivateEndpoints?api-version=2023-09-01")
    query = ("--query", "properties.privateLinkServicePrivateIP")
    address = as_text(az("resource", "show", "--ids", ENDPOINT, *query))
    assert address.startswith("10.")
    source = {
        "name": "local-pyroscope",
        "uid": "local-pyroscope",
        "type": "grafana-pyroscope-datasource",
        "access": "proxy",
        "url": f"http://{address}:4040",
    }
    url = f"{az.arm_url}/grafana/grafana-dev/api/datasources"
    made = as_object(az.rest("post", url, source, "--resource", GRAFANA_AUDIENCE))
    assert as_object(made["datasource"])["uid"] == "local-pyroscope"


def test_a_role_is_assigned_by_its_name(az: Cli) -> None:
    who = ("--assignee-object-id", CALLER_ID, "--assignee-principal-type", "ServicePrincipal")
    role = ("--role", "Monitoring Data Reader", "--scope", WORKSPACE)
    az("role", "assignment", "create", *who, *role)
    workspace = as_object(az("monitor", "account", "show", *IN_GROUP, "--name", "amw-dev"))
    assert as_object(workspace["metrics"])["prometheusQueryEndpoint"]


def test_a_setting_of_grafana_is_changed_by_its_id(az: Cli) -> None:
    change = ("--set", "properties.grafanaMajorVersion=13", "--force-string")
    az("resource", "update", "--ids", GRAFANA, *change)
    query = ("--query", "properties.grafanaMajorVersion")
    assert az("resource", "show", "--ids", GRAFANA, *query) == "13"


def test_a_namespace_is_added_to_those_that_the_safeguards_leave_out(az: Cli, azure: Azure) -> None:
    path = f"{CLUSTER}/providers/Microsoft.ContainerService/deploymentSafeguards/default"
    properties = {"level": "Warn", "excludedNamespaces": ["theirs"]}
    az.rest("put", f"{path}?api-version=2025-07-01", {"properties": properties})
    azure.advance(100)
    add = ("--add", "properties.excludedNamespaces", "gadget")
    az("aks", "safeguards", "update", *IN_GROUP, "--name", "aks-dev", *add)
    shown = as_object(as_object(az.rest("get", f"{path}?api-version=2025-07-01"))["properties"])
    assert shown["excludedNamespaces"] == ["theirs", "gadget"]


def test_a_failed_change_of_a_cluster_is_repeated_without_a_question(az: Cli) -> None:
    repeat = ("aks", "update", *IN_GROUP, "--name", "aks-dev")
    asked = az.run(*repeat)
    assert asked.returncode != 0, "without a terminal it cannot ask"
    assert as_object(az(*repeat, "--yes"))["provisioningState"] == "Succeeded"


def test_the_metrics_add_on_is_turned_on_as_the_preflight_says_it(az: Cli, azure: Azure) -> None:
    path = f"{CLUSTER.rpartition('/')[0]}/aks-plain"
    pool = {"name": "system", "count": 1, "vmSize": "Standard_D4s_v5", "mode": "System"}
    body: JsonObject = {
        "location": "westeurope",
        "identity": {"type": "SystemAssigned"},
        "properties": {"dnsPrefix": "plain", "agentPoolProfiles": [pool]},
    }
    azure.put(path, body)
    to = ("--enable-azure-monitor-metrics", "--azure-monitor-workspace-resource-id", WORKSPACE)
    done = az.run("aks", "update", *IN_GROUP, "--name", "aks-plain", *to)  # says more than JSON
    assert done.returncode == 0, done.stderr
    assert dig(azure.get(path), "properties", "azureMonitorProfile", "metrics", "enabled") is True
    # Its own rule and association, and what else the add-on's command makes.
    made = as_object(azure.inspect()["resources"])
    names = {key.rpartition("/")[2] for key in made if "aks-plain" in key}
    assert {"MSProm-westeurope-aks-plain", "NodeRecordingRulesRuleGroup-aks-plain"} <= names


def test_a_lock_in_the_way_is_named(az: Cli) -> None:
    az("lock", "create", "--name", "keep", "--lock-type", "CanNotDelete", *IN_GROUP)
    refused = az.run("aks", "nodepool", "delete", *IN_CLUSTER, "--name", "gpu")
    az("lock", "delete", "--name", "keep", *IN_GROUP)
    assert refused.returncode != 0
    assert "(ScopeLocked)" in refused.stderr


def test_a_command_runs_inside_the_cluster(az: Cli) -> None:
    command = "kubectl delete secret --namespace gadget --selector owner=helm,name=pyroscope"
    done = az.run(
        *("aks", "command", "invoke", *IN_GROUP, "--name", "aks-dev", "--command", command)
    )
    assert done.returncode == 0, done.stderr
    assert 'secret "sh.helm.release.v1.pyroscope.v1" deleted' in done.stdout


def test_what_the_procedure_made_is_deleted_by_id(az: Cli, azure: Azure) -> None:
    az("resource", "delete", "--ids", ENDPOINT)
    az.rest("delete", f"{EXTENSION}?api-version=2023-05-01&forceDelete=true")
    az("aks", "nodepool", "delete", *IN_CLUSTER, "--name", "gpu")
    azure.advance(600)
    names = ("--query", "[].name")
    pools = az("aks", "nodepool", "list", *IN_CLUSTER, *names)
    assert pools == ["system"]
    assert azure.call("GET", ENDPOINT).status_code == 404
    assert "aks-dev" in as_text(str(az("resource", "list", *IN_GROUP, *names)))
    assert azure.get(CLUSTER)["name"] == "aks-dev"
