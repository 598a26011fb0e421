"""Both shipped stack files through the whole program, up to what the engine receives."""

import asyncio
import gc
import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import pulumi
import pytest
import yaml
from pydantic.alias_generators import to_camel

import components
from contract.messages.base import Message, Verb, command_line
from contract.messages.grafana import DashboardRequest, DataSourceRequest
from contract.messages.serving import Question, Reply
from contract.messages.signal import SignalRequest
from contract.messages.survey import RoleFacts
from infra.deployed import Own
from infra.names import names_for
from infra.start import deploy
from tests.unit import answers
from tests.unit.recording import Recorded, RefusedError, Secret, record

ROOT = Path(__file__).parents[2]
Sections = dict[str, Any]

GUARD, READY = "pyroscope-private-link-guard", "pyroscope-private-link-ready"
ENDPOINT, APPROVAL = "private-endpoint-endpoint", "private-endpoint-approval"
PYROSCOPE, PROMETHEUS = "data-sources-pyroscope", "data-sources-prometheus"
DASHBOARD = "dashboard-dashboard"
OBSERVED_BY_COMMANDS = (APPROVAL, PYROSCOPE, PROMETHEUS, DASHBOARD)


def sections(stack: str) -> Sections:
    """The configuration of a shipped stack file."""
    document = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())
    return {key.removeprefix("gpuobs:"): value for key, value in document["config"].items()}


def run(
    config: Sections,
    azure: answers.Azure | None = None,
    *,
    stack: str = "dev",
    preview: bool = False,
) -> Recorded:
    azure = azure or answers.Azure()
    return record(
        lambda: deploy(azure),
        answer_resource=azure.resource,
        answer_call=azure.call,
        config={f"gpuobs:{key}": json.dumps(value) for key, value in config.items()},
        stack=stack,
        preview=preview,
    )


@cache
def as_shipped(stack: str, preview: bool = False) -> Recorded:
    """One run for all tests that only look at it."""
    survey = answers.EXISTING if stack == "dev" else answers.NOTHING
    return run(sections(stack), answers.Azure(survey), stack=stack, preview=preview)


def dev(change: Callable[[Sections], None] | None = None, **options: Any) -> Recorded:
    if change is None and not options:
        return as_shipped("dev")
    config = sections("dev")
    if change is not None:
        change(config)
    return run(config, **options)


def _in_blob(config: Sections) -> None:
    config["pyroscope"] = {"storage": {"blob": {}}}


def sandbox(*, preview: bool = False) -> Recorded:
    return as_shipped("sandbox", preview)


def request_of(recorded: Recorded, name: str) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", json.loads(recorded.named(name).inputs["stdin"]))


def test_what_others_may_have_made_is_known_by_the_names_that_the_program_gives() -> None:
    alerting = dev(lambda config: config.update(alerts={"email": ["oncall@example.com"]}))
    names = {*dev().names, *sandbox().names, *dev().reads, *alerting.names}
    names |= {*dev(_in_blob).names}
    # After a Helm that was cut off or refused, or a change by hand (test_own_state.py); with a
    # private API server or a workspace in another region (test_managed_prometheus.py).
    only_sometimes = {Own.EXTENSION_RECOVERY, Own.RELEASE_RECOVERY, Own.RELEASE_REPAIR}
    only_sometimes |= {Own.ACCESS_ENDPOINT}
    # With a link in a group where the cluster's identity may not make it (test_locked_nodes.py).
    # And in place of a server of the stack's own (test_existing_pyroscope.py).
    only_sometimes |= {Own.LINK_ROLE, Own.ELSEWHERE}
    # Of micro-services (tests/engine/test_distributed.py).
    only_sometimes |= {Own.AGENT_SERVICE}
    assert {own.value for own in Own if own not in only_sometimes} <= names


# --- an existing cluster, Grafana and workspace ------------------------------------------------


def test_dev_makes_nothing_that_exists_already() -> None:
    recorded = dev()
    for kind in (
        "azure-native:containerservice:ManagedCluster",
        "azure-native:dashboard:Grafana",
        "azure-native:monitor:AzureMonitorWorkspace",
        "azure-native:resources:ResourceGroup",
        "azure-native:authorization:RoleAssignment",
    ):
        assert recorded.of_type(kind) == [], kind


def test_dev_exports_what_an_operator_asks_for() -> None:
    exports = dev().exports
    assert exports["dashboardUrl"] == f"{answers.ENDPOINT}/d/AdvancedGPUObservability"
    assert exports["grafanaEndpoint"] == answers.ENDPOINT
    assert exports["dataSourceUids"]["pyroscope"] == "local-pyroscope"
    assert exports["dataSourceUids"]["prometheus"].startswith("prometheus-dev-")
    assert exports["privateEndpoint"] == {"state": "Approved", "privateIp": answers.PRIVATE_IP}
    assert exports["agentVersion"] == answers.AGENT_VERSION
    assert exports["pyroscopeUrl"] == "http://pyroscope.gadget.svc:4040"


def test_the_exported_signal_check_is_a_request_of_the_operation() -> None:
    recorded = dev()
    request = SignalRequest.model_validate(recorded.exports["signalCheck"])
    assert request.endpoint == answers.ENDPOINT
    assert request.pyroscope_uid == "local-pyroscope"
    assert request.prometheus_uid == recorded.exports["dataSourceUids"]["prometheus"]


@pytest.mark.handles("only-later-allocations-are-seen")
@pytest.mark.handles("started-earlier")
def test_the_notes_say_what_is_not_recorded_and_what_to_do() -> None:
    text = " ".join(dev().exports["notes"])
    for word in ("vLLM", "restarted", "symbols", "refresh off", "cuMemAllocAsync"):
        assert word in text, word
    assert "python -m gpuobs check --stack dev --wait 300" in text


def test_every_child_belongs_to_a_component_and_every_component_to_one_or_to_the_stack() -> None:
    for recorded in (dev(), sandbox()):
        components = {one.name for one in recorded.resources if not one.custom}
        for one in recorded.resources:
            if not one.custom:
                assert one.parent in {"", *components}, f"{one.name} is inside {one.parent}"
            elif one.name != "resource-group":
                assert one.parent in components, f"{one.name} has the parent {one.parent!r}"


@pytest.mark.parametrize("stack", ["dev", "sandbox"])
def test_every_component_registers_each_output_that_it_declares(stack: str) -> None:
    """What policies, the console and programs in other languages see of it."""
    recorded = as_shipped(stack)
    components = [one for one in recorded.resources if not one.custom]
    assert components
    for component in components:
        # A kubeconfig holds a token that rotates.
        declared = _outputs_of(component.type) - {"kubeconfig"}
        assert set(recorded.outputs.get(component.name, {})) == declared, component.type


def _outputs_of(kind: str) -> set[str]:
    """The outputs that a component's class declares, in camelCase."""
    classes = [
        one
        for module in pkgutil.iter_modules(components.__path__, "components.")
        for one in vars(importlib.import_module(module.name)).values()
        if isinstance(one, type) and getattr(one, "TYPE", "") == kind
    ]
    return {
        to_camel(name)
        for name, annotation in classes[0].__annotations__.items()
        if "Output" in str(annotation)
    }


def test_the_dashboard_waits_for_the_sources_that_it_shows_and_both_for_grafana() -> None:
    for recorded in (dev(), sandbox()):
        before = recorded.waits_for(DASHBOARD)
        assert {PYROSCOPE, PROMETHEUS} <= before
        grafana = {one.name for one in recorded.resources if one.parent == "grafana"}
        assert grafana
        for name in (DASHBOARD, PYROSCOPE, PROMETHEUS):
            assert grafana <= recorded.waits_for(name), name


def test_everything_in_the_cluster_goes_through_the_clusters_own_provider() -> None:
    for recorded in (dev(), sandbox()):
        inside = [one for one in recorded.resources if one.type.startswith("kubernetes:")]
        assert len(inside) == 3, [one.name for one in inside]
        assert {one.provider for one in inside} == {"cluster-kubernetes"}


# --- the chain ---------------------------------------------------------------------------------


def test_the_chain_from_guard_to_data_source_is_one_of_properties() -> None:
    recorded = dev()
    links = [
        (recorded.only("kubernetes:helm.sh/v3:Release").name, "namespace", GUARD),
        (READY, "triggers", "pyroscope-release"),
        (READY, "triggers", GUARD),
        (ENDPOINT, "privateLinkResourceId", READY),
        (APPROVAL, "triggers", ENDPOINT),
        (PYROSCOPE, "triggers", APPROVAL),
        (PYROSCOPE, "stdin", APPROVAL),
    ]
    for name, key, source in links:
        assert source in recorded.named(name).property_depends_on[key], f"{name}.{key}"


def test_what_has_a_fixed_name_is_deleted_before_it_is_replaced() -> None:
    recorded = dev()
    for name in (GUARD, "pyroscope-release", ENDPOINT, APPROVAL, PYROSCOPE, PROMETHEUS, DASHBOARD):
        assert recorded.named(name).delete_before_replace, name


def test_guard_and_wait_are_given_identity_and_nothing_else() -> None:
    one = dev()
    other = dev(
        lambda config: config.update(
            pyroscope={"imageTag": "1.16.0", "chart": {"version": "1.16.0"}, "values": {}},
            grafana={**config["grafana"], "folder": "GPUs"},
        )
    )
    for name in (GUARD, READY):
        assert one.named(name).inputs == other.named(name).inputs, name


def test_a_renamed_private_link_changes_the_guards_and_the_waits_identity() -> None:
    before, after = (
        dev(),
        dev(lambda config: config.update(pyroscope={"privateLink": {"name": "other"}})),
    )
    assert before.named(GUARD).inputs["triggers"] != after.named(GUARD).inputs["triggers"]
    assert request_of(after, GUARD)["id"].endswith("/privateLinkServices/other")


@pytest.mark.handles("address-read-before-refresh")
def test_the_data_source_has_the_address_that_the_approval_answered() -> None:
    request = DataSourceRequest.model_validate(request_of(dev(), PYROSCOPE))
    assert request.url == f"http://{answers.PRIVATE_IP}:4040"


@pytest.mark.handles("namespace-before-extension")
def test_the_namespace_is_made_before_the_extension_and_deleted_after_it() -> None:
    assert "inspektor-gadget-namespace" in dev().named("inspektor-gadget-extension").depends_on


@pytest.mark.handles("empty-component-dropped")
def test_the_extension_waits_for_pool_and_rules_and_the_sources_for_grafana() -> None:
    for recorded in (dev(), sandbox()):
        before = recorded.waits_for("inspektor-gadget-extension")
        assert {"gpu-pool-pool", "prometheus-rule-association"} <= before
        assert APPROVAL in recorded.waits_for(PYROSCOPE)
        assert "grafana-ready" in recorded.names or recorded.of_type(
            "azure-native:dashboard:Grafana"
        )


@pytest.mark.handles("empty-component-dropped")
def test_an_existing_workspace_without_rules_still_holds_the_order() -> None:
    def without_rules(config: Sections) -> None:
        config["prometheus"]["azureMonitorWorkspace"]["collect"] = False

    recorded = dev(without_rules)
    assert recorded.of_type("azure-native:monitor:DataCollectionRule") == []
    assert "prometheus-ready" in recorded.waits_for("inspektor-gadget-extension")


@pytest.mark.handles("cluster-before-endpoint")
def test_the_endpoint_is_deleted_before_what_it_points_at() -> None:
    recorded = sandbox()
    before = recorded.waits_for(ENDPOINT)
    assert {"pyroscope-release", "inspektor-gadget-extension", "cluster-cluster"} <= before


# --- everything made here ----------------------------------------------------------------------


def test_sandbox_makes_the_group_first_and_everything_else_in_it() -> None:
    recorded = sandbox()
    group = recorded.only("azure-native:resources:ResourceGroup")
    assert group.inputs["resourceGroupName"] == "rg-gpuobs-sandbox"
    for name in ("cluster-cluster", "grafana-workspace", "prometheus-workspace"):
        made = recorded.named(name)
        assert made.inputs["resourceGroupName"] == "rg-gpuobs-sandbox"
        assert "resource-group" in made.depends_on, name


def test_on_a_cluster_made_here_metrics_are_on_before_the_agent_publishes_any() -> None:
    recorded = sandbox()
    cluster = recorded.named("cluster-cluster").inputs
    assert cluster["azureMonitorProfile"] == {"metrics": {"enabled": True}}
    settings = recorded.named("inspektor-gadget-extension").inputs["configurationSettings"]
    assert settings["azureMonitor.enabled"] == "true"


def test_what_lives_in_a_cluster_made_here_is_deleted_along_with_it() -> None:
    recorded = sandbox()
    for name in (
        "gpu-pool-pool",
        "gpu-pool-device-plugin-daemon-set",
        "inspektor-gadget-namespace",
        "inspektor-gadget-extension",
        GUARD,
        "pyroscope-release",
    ):
        assert recorded.named(name).deleted_with == "cluster-cluster", name
    for name in (PYROSCOPE, PROMETHEUS, DASHBOARD):
        assert recorded.named(name).deleted_with == "grafana-workspace", name
    # Its connection lives on the other side: it must really be deleted.
    assert recorded.named(ENDPOINT).deleted_with == ""


def test_on_an_existing_cluster_nothing_is_left_to_somebody_elses_deletion() -> None:
    assert {one.deleted_with for one in dev().resources} == {""}


def test_who_deploys_becomes_grafana_admin_on_a_workspace_made_here() -> None:
    role = sandbox().named("grafana-deployer").inputs
    assert role["principalId"] == answers.CALLER
    assert role["principalType"] == "ServicePrincipal"
    assert role["scope"] == answers.GRAFANA_ID
    assert role["roleDefinitionId"].endswith("/22926164-76b3-42b3-bc55-97df8dab3e41")


def test_grafana_may_read_the_metrics_where_this_stack_made_either() -> None:
    role = sandbox().named("grafana-metrics-reader").inputs
    assert role["principalId"] == answers.GRAFANA_PRINCIPAL
    assert role["principalType"] == "ServicePrincipal"
    assert role["scope"] == answers.WORKSPACE_ID
    assert role["roleDefinitionId"].endswith("/b0d8363b-8ddd-447d-831f-62ca05bff136")


def test_a_preview_of_everything_new_needs_no_value_that_does_not_exist_yet() -> None:
    recorded = sandbox(preview=True)
    assert recorded.named(DASHBOARD).inputs["create"] == command_line(Verb.APPLY_DASHBOARD)
    triggers = recorded.named(GUARD).inputs["triggers"]
    assert triggers[0].endswith(f"/privateLinkServices/{recorded_link(recorded)}")


def recorded_link(recorded: Recorded) -> str:
    annotations = recorded.only("kubernetes:helm.sh/v3:Release").inputs["values"]["pyroscope"][
        "service"
    ]["annotations"]
    return cast("str", annotations["service.beta.kubernetes.io/azure-pls-name"])


# --- drift -------------------------------------------------------------------------------------


def test_every_object_of_a_command_carries_the_revision_observed_of_it() -> None:
    recorded = dev()
    revisions = {name: recorded.named(name).inputs["environment"] for name in OBSERVED_BY_COMMANDS}
    assert revisions == {
        APPROVAL: {"GPUOBS_OBSERVED": "revision-of-approval"},
        PYROSCOPE: {"GPUOBS_OBSERVED": "revision-of-pyroscope"},
        PROMETHEUS: {"GPUOBS_OBSERVED": "revision-of-prometheus"},
        DASHBOARD: {"GPUOBS_OBSERVED": "revision-of-dashboard"},
    }


def test_what_is_observed_is_what_is_applied() -> None:
    azure = answers.Azure()
    recorded = dev(azure=azure)
    (observed,) = azure.observed
    assert observed.approval is not None
    assert json.loads(observed.approval.to_json()) == request_of(recorded, APPROVAL)
    for name, source in observed.data_sources.items():
        applied = DataSourceRequest.model_validate(request_of(recorded, f"data-sources-{name}"))
        assert source.as_observed() == applied.as_observed(), name
    applied = DashboardRequest.model_validate(request_of(recorded, DASHBOARD))
    assert observed.dashboards["dashboard"] == applied


def test_a_grafana_that_this_update_creates_is_not_searched_for_what_cannot_be_there() -> None:
    new = answers.Azure(answers.NOTHING)
    run(sections("sandbox"), new, stack="sandbox")
    there = answers.Azure()
    dev(azure=there)
    assert [asked.on_new_grafana for asked in (*new.observed, *there.observed)] == [True, False]


def test_the_observation_waits_for_nothing_that_it_is_asked_about() -> None:
    recorded = dev()
    sources = recorded.named(APPROVAL).property_depends_on.get("environment", frozenset())
    assert sources == frozenset()


def test_without_drift_detection_nothing_is_observed_and_no_revision_is_changed() -> None:
    azure = answers.Azure()
    recorded = dev(lambda config: config["grafana"].update(driftDetection=False), azure=azure)
    assert azure.observed == []
    for name in OBSERVED_BY_COMMANDS:
        command = recorded.named(name)
        assert "environment" not in command.inputs
        assert "environment" in command.ignore_changes, name


def test_what_could_not_be_observed_is_a_warning_and_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Forbidden(answers.Azure):
        def answer(self, question: Question) -> Message:
            found = super().answer(question)
            if question.verb is Verb.OBSERVE:
                return found.model_copy(update={"problems": ("dashboard: no right to read it",)})
            return found

    recorded = dev(azure=Forbidden())
    assert "no right to read it" in caplog.text
    assert recorded.named(DASHBOARD).inputs["environment"]


def test_a_former_spelling_is_a_warning_that_names_the_new_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorded = dev(lambda config: config["grafana"].update(dataSources={"adopt": True}))
    assert caplog.text.count("gpuobs:grafana.adopt") == 1
    assert request_of(recorded, PYROSCOPE)["adopt"] is True
    assert request_of(recorded, DASHBOARD)["adopt"] is True


# --- what is stored ----------------------------------------------------------------------------


def test_no_command_holds_anything_of_one_machine_or_anything_that_expires() -> None:
    for recorded in (dev(), sandbox()):
        commands = recorded.of_type("command:local:Command")
        assert len(commands) == 9
        for command in commands:
            text = json.dumps(dict(command.inputs))
            assert command.inputs["create"].startswith("sh operations/run ")
            assert str(ROOT) not in text
            assert "interpreter" not in command.inputs
            assert "dir" not in command.inputs
            assert command.inputs["addPreviousOutputInEnv"] is False
            assert command.inputs["logging"] == "stderr"


def test_the_kubeconfig_is_secret_wherever_it_appears() -> None:
    for recorded in (dev(), sandbox()):
        provider = recorded.only("pulumi:providers:kubernetes")
        assert isinstance(provider.inputs["kubeconfig"], Secret)
        for one in recorded.resources:
            if one is not provider:
                assert "client-key-data" not in repr(one.inputs), one.name
        assert "client-key-data" not in repr([recorded.exports, recorded.outputs])


@pytest.mark.handles("fixed-names-collide")
def test_the_objects_of_two_stacks_on_one_grafana_have_nothing_in_common() -> None:
    def with_default_names(config: Sections) -> None:
        config["grafana"] = {"existing": config["grafana"]["existing"]}

    def other_cluster(config: Sections) -> None:
        with_default_names(config)
        config["cluster"]["existing"] = {"name": "aks-prod", "resourceGroup": "rg-prod"}

    one, other = dev(with_default_names), dev(other_cluster, stack="prod")
    for name, keys in {
        PYROSCOPE: ("name", "uid", "owner"),
        PROMETHEUS: ("name", "uid", "owner"),
        DASHBOARD: ("uid", "owner"),
        APPROVAL: ("endpointName", "requestMessage"),
    }.items():
        for key in keys:
            assert request_of(one, name)[key] != request_of(other, name)[key], f"{name}.{key}"
    titles = {request_of(each, DASHBOARD)["dashboard"]["title"] for each in (one, other)}
    assert len(titles) == 2


# --- settings ----------------------------------------------------------------------------------


def test_a_fault_in_the_settings_is_one_message_and_registers_nothing() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        run({"cluster": {"existing": {"name": "aks-dev"}}, "gpupool": {}})
    message = str(caught.value)
    assert "gpuobs:cluster.existing" in message
    assert "gpupool" in message
    assert "gpuobs:grafana" in message
    assert caught.value.__suppress_context__, "the cause would be shown as a traceback"


@pytest.mark.handles("secret-in-section")
def test_an_encrypted_setting_is_refused_without_showing_it() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        record(
            lambda: deploy(answers.Azure()),
            answer_call=answers.Azure().call,
            config={"gpuobs:pyroscope": json.dumps({"values": {"a": "hunter2"}})},
            secret_config=["gpuobs:pyroscope"],
        )
    assert "gpuobs:pyroscope" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_what_does_not_fit_what_exists_is_one_message() -> None:
    stopped = answers.EXISTING.cluster.model_copy(update={"power_state": "Stopped"})
    survey = answers.EXISTING.model_copy(update={"cluster": stopped})
    with pytest.raises(pulumi.RunError, match=r"[Ss]topped"):
        dev(azure=answers.Azure(survey))


def test_where_nothing_can_be_looked_up_a_sentence_says_why() -> None:
    class Broken(answers.Azure):
        def ask(self, question: str) -> str:
            del question
            raise OSError("ModuleNotFoundError: No module named 'azure'")

    with pytest.raises(pulumi.RunError) as caught:
        dev(azure=Broken())
    assert "No module named 'azure'" in str(caught.value)
    assert "nothing was changed" in str(caught.value)
    assert caught.value.__suppress_context__, "the cause would be shown as a traceback"


class FailingToObserve(answers.Azure):
    """Finds everything, and cannot observe what the stack made."""

    def ask(self, question: str) -> str:
        if Question.model_validate_json(question).verb is Verb.OBSERVE:
            return Reply(error="error: unexpected ValueError in observe: no").to_json()
        return super().ask(question)


def test_where_a_lookup_fails_its_own_words_are_shown() -> None:
    with pytest.raises(pulumi.RunError, match="could not be observed") as caught:
        dev(azure=FailingToObserve())
    assert "unexpected ValueError in observe: no" in str(caught.value)


def test_a_program_that_failed_leaves_nothing_running_for_the_next_test() -> None:
    with pytest.raises(pulumi.RunError):
        dev(azure=FailingToObserve())
    tasks = cast("list[asyncio.Task[object]]", _all(asyncio.Task))
    assert [one for one in tasks if not one.done()] == []


def _all(kind: type) -> list[object]:
    return [one for one in gc.get_objects() if isinstance(one, kind)]


def test_an_observation_that_leaves_something_out_is_said_to_do_so() -> None:
    class Forgetful(answers.Azure):
        def ask(self, question: str) -> str:
            if Question.model_validate_json(question).verb is Verb.OBSERVE:
                return Reply(answer={"revisions": {"pyroscope": "r"}}).to_json()
            return super().ask(question)

    with pytest.raises(pulumi.RunError, match="answered nothing of approval, dashboard") as caught:
        dev(azure=Forgetful())
    assert "could not be observed" in str(caught.value)


def test_where_the_azure_provider_cannot_sign_in_a_sentence_says_how() -> None:
    class SignedOut(answers.Azure):
        def call(self, token: str, arguments: Mapping[str, Any]) -> dict[str, object]:
            if token.endswith(":getClientConfig"):
                raise RefusedError("building auth config: please run 'az login'")
            return super().call(token, arguments)

    with pytest.raises(pulumi.RunError) as caught:
        dev(azure=SignedOut())
    for words in ("building auth config", "nothing was changed", "ARM_CLIENT_ID", "az login, or"):
        assert words in str(caught.value)


@pytest.mark.parametrize("preview", [True, False])
def test_an_up_waits_for_a_cluster_that_is_being_upgraded_and_a_preview_does_not(
    preview: bool,
) -> None:
    busy = answers.EXISTING.cluster.model_copy(update={"provisioning_state": "Upgrading"})

    class Busy(answers.Azure):
        """At rest from the first survey on that waits."""

        def ask(self, question: str) -> str:
            asked = Question.model_validate_json(question)
            if asked.verb is Verb.SURVEY and not asked.request.get("wait"):
                self.survey = answers.EXISTING.model_copy(update={"cluster": busy})
            else:
                self.survey = answers.EXISTING
            return super().ask(question)

    azure = Busy()
    dev(azure=azure, preview=preview)
    assert azure.asked.count(Verb.SURVEY) == (1 if preview else 2)


@pytest.mark.parametrize("answer", ["hello", "{}", '{"answer": {"colour": "red"}}'])
def test_an_answer_that_is_no_survey_is_said_to_be_none(answer: str) -> None:
    class Confused(answers.Azure):
        def ask(self, question: str) -> str:
            del question
            return answer

    with pytest.raises(pulumi.RunError, match="something other than a survey"):
        dev(azure=Confused())


def test_another_subscription_gets_a_provider_of_its_own_for_everything_in_azure() -> None:
    other = "99999999-9999-4999-8999-999999999999"
    recorded = dev(lambda config: config.update(azure={"subscriptionId": other}))
    provider = recorded.only("pulumi:providers:azure-native")
    assert provider.inputs["subscriptionId"] == other
    made = [one for one in recorded.resources if one.type.startswith("azure-native:")]
    assert {one.provider for one in made} == {"azure"}


def test_no_gpu_pool_and_no_metrics_leave_nothing_of_them_behind() -> None:
    def little(config: Sections) -> None:
        del config["prometheus"]
        config["gpuPool"] = {"enabled": False}

    recorded = dev(little)
    for word in ("gpu-pool", "prometheus"):
        assert [name for name in recorded.names if word in name] == []
    assert set(recorded.exports["dataSourceUids"]) == {"pyroscope"}
    settings = recorded.named("inspektor-gadget-extension").inputs["configurationSettings"]
    assert settings["gpuObservability.enabled"] == "true"


def test_a_prometheus_of_ones_own_is_read_without_azure_credentials() -> None:
    recorded = dev(lambda config: config.update(prometheus={"url": "http://prometheus.example"}))
    request = DataSourceRequest.model_validate(request_of(recorded, PROMETHEUS))
    assert request.url == "http://prometheus.example"
    assert "azureCredentials" not in request.json_data
    assert recorded.of_type("azure-native:monitor:DataCollectionRule") == []


def test_a_dashboard_file_that_cannot_be_used_is_named() -> None:
    with pytest.raises(pulumi.RunError, match="no-such-file"):
        dev(
            lambda config: config["grafana"].update(
                dashboard={"file": "dashboards/no-such-file.json"}
            )
        )


def test_the_operations_are_asked_twice_in_all() -> None:
    azure = answers.Azure()
    run(sections("dev"), azure)
    assert azure.asked == [Verb.SURVEY, Verb.OBSERVE]
    assert azure.closed


def test_without_drift_detection_the_operations_end_after_the_survey() -> None:
    azure = answers.Azure()
    dev(lambda config: config["grafana"].update(driftDetection=False), azure=azure)
    assert (azure.asked, azure.closed) == ([Verb.SURVEY], True)


# --- roles that are assigned already -------------------------------------------------------------

VIEWER = "60921a7e-fef1-4a43-9b16-a26c52ad4769"
SOMEBODY = "66666666-6666-4666-8666-666666666666"


def with_viewer(*assigned: RoleFacts) -> list[str]:
    """The role assignments that are made where ``assigned`` are there already."""

    def change(config: Sections) -> None:
        role = {"principalId": SOMEBODY, "principalType": "User", "role": "Viewer"}
        config["grafana"]["roleAssignments"] = [role]

    survey = answers.EXISTING.model_copy(update={"assigned": assigned})
    recorded = dev(change, azure=answers.Azure(survey))
    made = recorded.of_type("azure-native:authorization:RoleAssignment")
    return [one.inputs["roleAssignmentName"] for one in made]


def test_a_role_that_somebody_else_assigned_is_not_assigned_again() -> None:
    (own_name,) = with_viewer()
    by_hand = RoleFacts(name="by-hand", role=VIEWER, principal_id=SOMEBODY)
    assert with_viewer(by_hand) == []
    assert with_viewer(by_hand.model_copy(update={"role": "another"})) == [own_name]
    assert with_viewer(by_hand.model_copy(update={"principal_id": "another"})) == [own_name]


def test_a_role_that_this_stack_assigned_stays_its_own_and_one_of_another_stacks_its_maker() -> (
    None
):
    (own_name,) = with_viewer()
    there = RoleFacts(name=own_name, role=VIEWER, principal_id=SOMEBODY)
    mark = names_for("gpuobs", "dev").request_message
    assert with_viewer(there.model_copy(update={"description": mark})) == [own_name]
    other = names_for("gpuobs", "prod").request_message
    assert with_viewer(there.model_copy(update={"description": other})) == []
    # An older program left no mark.
    assert with_viewer(there) == [own_name]


# --- an agent that nobody knew before it was installed -------------------------------------------


def test_a_new_agent_that_does_not_fit_the_server_is_refused_once_it_is_installed() -> None:
    class OldAgent(answers.Azure):
        def resource(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, object]:
            found = super().resource(kind, name, inputs)
            return {**found, "currentVersion": "0.53.0"} if "currentVersion" in found else found

    config = sections("dev")
    config["pyroscope"] = {"imageTag": "1.19.2"}
    with pytest.raises(pulumi.RunError, match="The agent that was installed does not fit"):
        run(config, OldAgent())
    assert run(config).named("pyroscope-release")
