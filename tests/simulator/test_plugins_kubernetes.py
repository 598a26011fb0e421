"""What pulumi-kubernetes 4.34 does, held by the simulator's own on a simulated cluster."""

import base64
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from simulator import seed
from simulator.plugins.properties import UNKNOWN
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig
from tests.azure_client import AzureClient, azure_client
from tests.simulator.plugin_process import CallFailed, Plugin, running, urn

MODULE = "simulator.plugins.kubernetes.provider"
NAMESPACE = urn("kubernetes:core/v1:Namespace", "space")
DAEMON_SET = urn("kubernetes:apps/v1:DaemonSet", "daemons")
RELEASE = urn("kubernetes:helm.sh/v3:Release", "store")
CLUSTER = (
    f"/subscriptions/{seed.SUBSCRIPTION_ID}/resourceGroups/rg-dev"
    "/providers/Microsoft.ContainerService/managedClusters/aks-dev"
)
CHART = "oci://ghcr.io/grafana/helm-charts/pyroscope"
VALUES: JsonObject = {"pyroscope": {"service": {"type": "ClusterIP", "port": 4040}}}


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureClient]:
    with azure_client(tmp_path_factory.mktemp("azure")) as started:
        yield started


@pytest.fixture(scope="module")
def kubeconfig(azure: AzureClient) -> str:
    answer = azure.arm("POST", f"{CLUSTER}/listClusterUserCredential")
    return base64.b64decode(as_text(as_objects(answer["kubeconfigs"])[0]["value"])).decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def plugin(azure: AzureClient, kubeconfig: str, folder: Path) -> Iterator[Plugin]:
    with started(azure, folder) as process:
        process.configure({"kubeconfig": kubeconfig})
        yield process


def started(azure: AzureClient, folder: Path):
    environment = {**azure.server.environment, "SIM_LATENCY": "0"}
    return running(MODULE, cwd=folder, environment=environment)


def namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def release(name: str, space: str, **more: object) -> JsonObject:
    inputs: JsonObject = {
        "name": name,
        "namespace": space,
        "chart": CHART,
        "version": "1.15.0",
        "values": VALUES,
        "timeout": 300,
    }
    return {**inputs, **more}


def names_of(azure: AzureClient, what: str) -> list[str]:
    clusters = as_object(azure.inspect()["kubernetes"])
    cluster = as_object(clusters[CLUSTER.lower()])
    found = cluster[what]
    if what == "namespaces":
        return sorted(as_object(found)) or sorted(map(str, as_list(found)))
    return sorted(f"{item['namespace']}/{item['name']}" for item in as_objects(found))


# --- the kubeconfig -----------------------------------------------------------------------------


def exec_plugin(folder: Path, kubeconfig: str, script: str, **more: object) -> str:
    """The kubeconfig with its user's token replaced by an exec plugin that runs ``script``."""
    document = yaml.safe_load(kubeconfig)
    program = folder / "credential"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    plugin: JsonObject = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(program),
        "interactiveMode": "IfAvailable",
        **more,
    }
    document["users"][0]["user"] = {"exec": plugin}
    return yaml.safe_dump(document)


def credential(token: str, version: str = "client.authentication.k8s.io/v1") -> str:
    found = {"kind": "ExecCredential", "apiVersion": version, "status": {"token": token}}
    return f"cat <<'END'\n{json.dumps(found)}\nEND"


def token_of(kubeconfig: str) -> str:
    return as_text(yaml.safe_load(kubeconfig)["users"][0]["user"].get("token"))


def test_an_exec_plugin_really_runs_with_its_arguments_and_environment(
    azure: AzureClient, kubeconfig: str, folder: Path
) -> None:
    note = folder / "note"
    script = f'echo "$1 $OWN $KUBERNETES_EXEC_INFO" > {note}\n' + credential(token_of(kubeconfig))
    config = exec_plugin(
        folder, kubeconfig, script, args=["get-token"], env=[{"name": "OWN", "value": "given"}]
    )
    with started(azure, folder) as plugin:
        plugin.configure({"kubeconfig": config})
        plugin.create(NAMESPACE, namespace("by-exec"))
    argument, own, info = note.read_text().split(" ", 2)
    assert (argument, own) == ("get-token", "given")
    assert json.loads(info)["apiVersion"] == "client.authentication.k8s.io/v1"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo broken >&2; exit 4", "failed with exit code 4: broken"),
        ("echo nonsense", "decoding stdout"),
        (credential("t", "client.authentication.k8s.io/v1beta1"), "returned version"),
        (credential(""), "didn't return a token"),
    ],
)
def test_a_failing_exec_plugin_makes_the_cluster_unreachable_with_the_reason(
    azure: AzureClient, kubeconfig: str, folder: Path, script: str, reason: str
) -> None:
    with started(azure, folder) as plugin:
        plugin.configure({"kubeconfig": exec_plugin(folder, kubeconfig, script)})
        with pytest.raises(CallFailed, match=reason) as failure:
            plugin.create(NAMESPACE, namespace("never"))
    assert "configured Kubernetes cluster is unreachable" in str(failure.value)


def test_a_missing_exec_plugin_says_what_to_install(
    azure: AzureClient, kubeconfig: str, folder: Path
) -> None:
    config = exec_plugin(
        folder, kubeconfig, "", command="no-such-kubelogin", installHint="Install kubelogin."
    )
    with started(azure, folder) as plugin:
        plugin.configure({"kubeconfig": config})
        with pytest.raises(
            CallFailed, match=r"no-such-kubelogin not found[\s\S]*Install kubelogin"
        ):
            plugin.create(NAMESPACE, namespace("never"))


def test_a_malformed_kubeconfig_makes_the_cluster_unreachable(
    azure: AzureClient, folder: Path
) -> None:
    with started(azure, folder) as plugin:
        plugin.configure({"kubeconfig": "current-context: none\n"})
        with pytest.raises(CallFailed, match="failed to parse kubeconfig"):
            plugin.create(NAMESPACE, namespace("never"))


# --- the provider's own arguments ---------------------------------------------------------------


def arguments(kubeconfig: str, **more: object) -> JsonObject:
    return {"kubeconfig": kubeconfig, **more}


def with_token(kubeconfig: str, token: str) -> str:
    document = yaml.safe_load(kubeconfig)
    document["users"][0]["user"] = {"token": token}
    return yaml.safe_dump(document)


def with_server(kubeconfig: str, server: str) -> str:
    document = yaml.safe_load(kubeconfig)
    document["clusters"][0]["cluster"]["server"] = server
    return yaml.safe_dump(document)


def test_a_rotated_token_updates_the_provider_and_replaces_nothing(
    plugin: Plugin, kubeconfig: str
) -> None:
    old = arguments(with_token(kubeconfig, "a"), clusterIdentifier="one")
    new = arguments(with_token(kubeconfig, "b"), clusterIdentifier="one")
    answer = plugin.diff_config(old, new)
    assert answer.changes == 2
    assert not answer.replaces


def test_another_server_replaces_unless_the_cluster_is_identified(
    plugin: Plugin, kubeconfig: str
) -> None:
    other = with_server(kubeconfig, "https://127.0.0.1:1/other")
    assert list(plugin.diff_config(arguments(kubeconfig), arguments(other)).replaces)
    old = arguments(kubeconfig, clusterIdentifier="one")
    assert not plugin.diff_config(old, arguments(other, clusterIdentifier="one")).replaces
    assert plugin.diff_config(old, arguments(other, clusterIdentifier="two")).replaces


def test_an_unknown_kubeconfig_replaces_unless_the_cluster_is_identified(
    plugin: Plugin, kubeconfig: str
) -> None:
    unknown: JsonObject = {"kubeconfig": UNKNOWN}
    assert list(plugin.diff_config(arguments(kubeconfig), unknown).replaces) == ["kubeconfig"]
    old = arguments(kubeconfig, clusterIdentifier="one")
    assert not plugin.diff_config(old, {**unknown, "clusterIdentifier": "one"}).replaces


# --- objects ------------------------------------------------------------------------------------


def test_a_namespace_is_made_and_removed(plugin: Plugin, azure: AzureClient) -> None:
    made, live = plugin.create(NAMESPACE, namespace("made"))
    assert made == "made"
    assert dig(live, "metadata", "uid")
    assert "made" in names_of(azure, "namespaces")
    plugin.delete(NAMESPACE, made, live)
    assert "made" not in names_of(azure, "namespaces")


@pytest.mark.parametrize(
    ("headers", "made"), [({"Retry-After": "1"}, True), (dict[str, str](), False)]
)
def test_a_busy_api_server_is_asked_again_where_it_says_when(
    plugin: Plugin, azure: AzureClient, headers: dict[str, str], made: bool
) -> None:
    name = f"busy-{made}".lower()
    then = {"status": 429, "headers": headers}
    rule = {"service": "kubernetes", "method": "PATCH", "path": f".*/namespaces/{name}"}
    azure.settings(faults=[{**rule, "count": 2, "then": then}])
    if made:
        plugin.create(NAMESPACE, namespace(name))
    else:
        with pytest.raises(CallFailed):
            plugin.create(NAMESPACE, namespace(name))
    azure.settings(faults=[])
    assert (name in names_of(azure, "namespaces")) is made


def test_an_existing_namespace_is_not_taken_over(plugin: Plugin) -> None:
    plugin.create(NAMESPACE, namespace("taken"))
    with pytest.raises(CallFailed, match='namespaces "taken" already exists'):
        plugin.create(NAMESPACE, namespace("taken"))


def test_deleting_what_is_gone_succeeds(plugin: Plugin) -> None:
    plugin.delete(NAMESPACE, "never-there", namespace("never-there"))


def test_an_object_without_a_name_gets_one_and_keeps_it(plugin: Plugin) -> None:
    checked = plugin.check(NAMESPACE, {})
    name = as_text(dig(checked, "metadata", "name"))
    assert name.startswith("space-")
    assert dig(plugin.check(NAMESPACE, {}, checked), "metadata", "name") == name


def test_a_renamed_object_is_replaced(plugin: Plugin) -> None:
    answer = plugin.diff(NAMESPACE, namespace("a"), namespace("b"))
    assert list(answer.replaces) == ["metadata.name"]
    assert not answer.deleteBeforeReplace


def test_a_changed_selector_replaces_a_daemon_set_and_the_old_one_goes_first(
    plugin: Plugin,
) -> None:
    def daemons(label: str) -> JsonObject:
        metadata: JsonObject = {"name": "d", "namespace": "kube-system"}
        return {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": label}}}}

    answer = plugin.diff(DAEMON_SET, daemons("a"), daemons("b"))
    assert list(answer.replaces)
    assert answer.deleteBeforeReplace


def test_a_daemon_set_is_waited_for(plugin: Plugin) -> None:
    inputs: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "waited", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"app": "waited"}},
            "template": {
                "metadata": {"labels": {"app": "waited"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    made, live = plugin.create(DAEMON_SET, inputs)
    assert made == "kube-system/waited"
    assert dig(live, "status", "numberReady") == dig(live, "status", "desiredNumberScheduled")
    plugin.delete(DAEMON_SET, made, live)


def test_refresh_shows_only_what_the_program_set(plugin: Plugin) -> None:
    inputs = namespace("refreshed")
    made, live = plugin.create(NAMESPACE, inputs)
    assert plugin.read(NAMESPACE, made, inputs, live)[1] == inputs
    assert plugin.read(NAMESPACE, "gone", inputs, live) == ("", {}, {})


# --- releases: check and diff -------------------------------------------------------------------


def test_a_release_without_a_name_gets_one_and_keeps_it(plugin: Plugin) -> None:
    checked = plugin.check(RELEASE, {"chart": CHART})
    name = as_text(checked["name"])
    assert name.startswith("store-")
    assert plugin.check(RELEASE, {"chart": CHART}, checked)["name"] == name


def test_a_release_waits_five_minutes_by_default(plugin: Plugin) -> None:
    assert plugin.check(RELEASE, {"chart": CHART})["timeout"] == 300
    assert "timeout" not in plugin.check(RELEASE, {"chart": CHART, "skipAwait": True})


@pytest.mark.parametrize("name", ["name", "namespace"])
def test_another_name_or_namespace_replaces_a_release(plugin: Plugin, name: str) -> None:
    old = release("a", "b")
    answer = plugin.diff(RELEASE, old, {**old, name: "other"})
    assert list(answer.replaces) == [name]
    assert not answer.deleteBeforeReplace


def test_an_unknown_namespace_replaces_a_release(plugin: Plugin) -> None:
    old = release("a", "b")
    assert list(plugin.diff(RELEASE, old, {**old, "namespace": UNKNOWN}).replaces) == ["namespace"]


def test_changed_values_update_a_release_and_name_their_path(plugin: Plugin) -> None:
    old = release("a", "b")
    new = release("a", "b", values={"pyroscope": {"service": {"type": "ClusterIP", "port": 1}}})
    answer = plugin.diff(RELEASE, old, new)
    assert list(answer.detailedDiff) == ["values.pyroscope.service.port"]
    assert not answer.replaces


def test_a_local_chart_must_exist_at_every_preview(plugin: Plugin) -> None:
    answer = plugin.check_response(RELEASE, {"chart": "./no-such-chart"})
    reason = 'path "./no-such-chart" not found; check the chart name and repository configuration.'
    assert [(found.property, found.reason) for found in answer.failures] == [("chart", reason)]


def test_a_chart_that_is_neither_local_nor_in_a_registry_is_refused(plugin: Plugin) -> None:
    answer = plugin.check_response(RELEASE, {"chart": "pyroscope", "version": "1.0.0"})
    assert 'failed to download "pyroscope" at version "1.0.0"' in answer.failures[0].reason


def test_a_local_chart_gives_the_release_its_version(plugin: Plugin, folder: Path) -> None:
    (folder / "chart").mkdir()
    (folder / "chart" / "Chart.yaml").write_text("name: own\nversion: 3.2.1\n")
    assert plugin.check(RELEASE, {"chart": "./chart"})["version"] == "3.2.1"


def test_an_unknown_input_of_a_release_is_refused(plugin: Plugin) -> None:
    answer = plugin.check_response(RELEASE, {"chart": CHART, "postrender": "x"})
    assert [found.property for found in answer.failures] == ["postrender"]


# --- releases: installing -----------------------------------------------------------------------


def test_a_release_is_installed_upgraded_and_removed(plugin: Plugin, azure: AzureClient) -> None:
    plugin.create(NAMESPACE, namespace("rel-life"))
    made, outputs = plugin.create(RELEASE, release("life", "rel-life"))
    assert made == "rel-life/life"
    assert dig(outputs, "status", "status") == "deployed"
    assert dig(outputs, "status", "revision") == 1
    names = as_object(outputs["resourceNames"])
    assert any(kind.startswith("Service/") for kind in names)
    news = release("life", "rel-life", values={"pyroscope": {"replicaCount": 1}})
    assert dig(plugin.update(RELEASE, made, outputs, news), "status", "revision") == 2
    plugin.delete(RELEASE, made, outputs)
    assert "rel-life/life" not in names_of(azure, "releases")
    assert not [name for name in names_of(azure, "services") if name.startswith("rel-life/")]


def test_a_release_in_a_missing_namespace_is_refused(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match='namespaces "rel-missing" not found') as failure:
        plugin.create(RELEASE, release("a", "rel-missing"))
    assert failure.value.partial is None


def test_a_name_in_use_is_refused(plugin: Plugin) -> None:
    plugin.create(NAMESPACE, namespace("rel-used"))
    plugin.create(RELEASE, release("a", "rel-used"))
    with pytest.raises(CallFailed, match="cannot re-use a name that is still in use") as failure:
        plugin.create(RELEASE, release("a", "rel-used"))
    assert failure.value.partial is None


def failing(name: str, space: str, **more: object) -> JsonObject:
    """A release whose load balancer never gets an address."""
    annotations = {
        "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
        "service.beta.kubernetes.io/azure-pls-create": "true",
        "service.beta.kubernetes.io/azure-pls-name": "x" * 81,
    }
    service = {"type": "LoadBalancer", "port": 4040, "annotations": annotations}
    return release(name, space, values={"pyroscope": {"service": service}}, timeout=30, **more)


def test_a_release_that_does_not_become_ready_stays_in_state(
    plugin: Plugin, azure: AzureClient
) -> None:
    plugin.create(NAMESPACE, namespace("rel-fails"))
    with pytest.raises(CallFailed) as failure:
        plugin.create(RELEASE, failing("a", "rel-fails"))
    assert str(failure.value).startswith(
        'Helm release "rel-fails/a" was created, but failed to initialize completely. '
        "Use Helm CLI to investigate: failed to become available within allocated timeout. "
        "Error: Helm Release rel-fails/a: "
    )
    partial = failure.value.partial
    assert partial is not None
    assert partial.id == "rel-fails/a"
    assert "rel-fails/a" in names_of(azure, "releases")


def test_an_atomic_release_that_does_not_become_ready_leaves_nothing(
    plugin: Plugin, azure: AzureClient
) -> None:
    plugin.create(NAMESPACE, namespace("rel-atomic"))
    with pytest.raises(CallFailed) as failure:
        plugin.create(RELEASE, failing("a", "rel-atomic", atomic=True))
    assert failure.value.partial is None
    assert "rel-atomic/a" not in names_of(azure, "releases")


def test_a_release_that_is_gone_reads_as_gone_and_its_delete_says_not_found(
    plugin: Plugin,
) -> None:
    inputs = release("never", "rel-never")
    assert plugin.read(RELEASE, "rel-never/never", inputs, inputs) == ("", {}, {})
    with pytest.raises(CallFailed) as failure:
        plugin.delete(RELEASE, "rel-never/never", inputs)
    assert str(failure.value) == "uninstall: Release not loaded: never: release: not found"


def test_nothing_is_installed_in_a_preview(plugin: Plugin, azure: AzureClient) -> None:
    made, outputs = plugin.create(RELEASE, release("shown", "anywhere"), preview=True)
    assert made == ""
    assert outputs["status"] is UNKNOWN
    assert "anywhere/shown" not in names_of(azure, "releases")


# --- unreachable --------------------------------------------------------------------------------


@pytest.fixture
def unreachable(azure: AzureClient, kubeconfig: str, folder: Path) -> Iterator[Plugin]:
    with started(azure, folder) as plugin:
        plugin.configure({"kubeconfig": with_server(kubeconfig, "https://127.0.0.1:9/none")})
        yield plugin


def test_an_unreachable_cluster_is_named_as_such_by_every_call(unreachable: Plugin) -> None:
    with pytest.raises(CallFailed, match="configured Kubernetes cluster is unreachable"):
        unreachable.create(NAMESPACE, namespace("a"))
    with pytest.raises(CallFailed, match="can't create Helm Release with unreachable cluster"):
        unreachable.create(RELEASE, release("a", "b"))
    with pytest.raises(CallFailed, match="Kubernetes cluster unreachable"):
        unreachable.delete(RELEASE, "b/a", release("a", "b"))
    with pytest.raises(CallFailed, match="PULUMI_K8S_DELETE_UNREACHABLE"):
        unreachable.read(NAMESPACE, "a", namespace("a"), namespace("a"))
    assert any("unreachable" in message for message in unreachable.log.messages)


def test_an_unreachable_cluster_still_previews(unreachable: Plugin) -> None:
    assert unreachable.create(NAMESPACE, namespace("a"), preview=True)[0] == ""
    assert unreachable.create(RELEASE, release("a", "b"), preview=True)[0] == ""


def test_objects_of_a_deleted_cluster_leave_the_state_where_that_is_wanted(
    azure: AzureClient, kubeconfig: str, folder: Path
) -> None:
    with started(azure, folder) as plugin:
        gone = with_server(kubeconfig, "https://127.0.0.1:9/none")
        plugin.configure({"kubeconfig": gone, "deleteUnreachable": "true"})
        assert plugin.read(NAMESPACE, "a", namespace("a"), namespace("a"))[0] == ""
        plugin.delete(NAMESPACE, "a", namespace("a"))
        # Helm releases do not know that option.
        with pytest.raises(CallFailed, match="Kubernetes cluster unreachable"):
            plugin.delete(RELEASE, "b/a", release("a", "b"))


def test_an_unknown_type_is_an_error(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match="kubernetes:core/v1:Secret"):
        plugin.check(urn("kubernetes:core/v1:Secret"), {})


def test_the_plugin_ends_promptly_on_sigint(azure: AzureClient, folder: Path) -> None:
    with started(azure, folder) as plugin:
        assert plugin.interrupt() < 5
        assert plugin.process.returncode == 0
