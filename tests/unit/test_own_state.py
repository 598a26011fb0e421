"""What the stack's own state tells of earlier updates: a disk that is there, a Helm cut off."""

import json

import pytest

from components.pyroscope_disk import DiskArgs
from contract.azure import cluster_id
from contract.json import Document
from contract.messages.namespace import KeptNamespace, NamespaceRequest
from contract.messages.release import DriftedObject
from contract.messages.survey import (
    InsideFacts,
    InstalledExtension,
    Presence,
    ReleaseRecord,
    Survey,
)
from contract.microservices import ServerMode
from infra.deployed import EVERYTHING, Deployed, Own
from infra.disk import planned_disk
from infra.drift import extension_release, kept_namespace, said_of_drift
from infra.faults import ConfigurationError
from infra.interrupted import extension_in_the_way, records_in_the_way
from infra.names import names_for
from infra.preflight import survey_request
from infra.settings import Blob, Disk, PyroscopeSettings, StorageSettings
from tests.unit import answers
from tests.unit.stack_files import settings
from tests.unit.test_leftovers import record
from tests.unit.test_preflight import PROVIDER, WITH_METRICS
from tests.unit.test_program import run, sections

CLUSTER = cluster_id(answers.SUBSCRIPTION, "rg-dev", "aks-dev")
GUARD, RELEASE, GROWN = "pyroscope-private-link-guard", "pyroscope-release", "pyroscope-disk"
RECOVERY = "pyroscope-release-recovery"


def stored(disk: Disk | None = None, blob: Blob | None = None) -> PyroscopeSettings:
    return PyroscopeSettings(storage=StorageSettings(disk=disk, blob=blob))


def of_micro_services(disk: Disk | None = None) -> PyroscopeSettings:
    return stored(disk, Blob()).model_copy(update={"mode": ServerMode.DISTRIBUTED})


def state(made: dict[str, object], grown: str = "") -> Deployed:
    found = {RELEASE: Document({"values": {"pyroscope": {"persistence": made}}})}
    if grown:
        spec = {"resources": {"requests": {"storage": grown}}}
        found[GROWN] = Document({"spec": spec})
    return Deployed(found)


MADE: dict[str, object] = {"enabled": True, "size": "50Gi"}


@pytest.mark.parametrize(
    ("deployed", "size", "planned"),
    [
        (Deployed({}), "50Gi", DiskArgs(size="50Gi")),
        (Deployed(None), "50Gi", DiskArgs(size="50Gi")),
        (state({"enabled": False}), "50Gi", DiskArgs(size="50Gi")),
        (state(MADE), "50Gi", DiskArgs(size="50Gi")),
        (state(MADE), "51200Mi", DiskArgs(size="50Gi")),
        (state(MADE), "1Ti", DiskArgs(size="50Gi", grown_to="1Ti")),
        (state(MADE, "1Ti"), "1Ti", DiskArgs(size="50Gi", grown_to="1Ti")),
        (state(MADE, "1Ti"), "2Ti", DiskArgs(size="50Gi", grown_to="2Ti")),
    ],
)
def test_a_disk_keeps_the_template_it_was_made_from_and_grows(
    deployed: Deployed, size: str, planned: DiskArgs
) -> None:
    assert planned_disk(stored(disk=Disk(size=size)), deployed, CLUSTER) == planned


@pytest.mark.parametrize(
    ("deployed", "size", "has"),
    [(state(MADE), "49Gi", "50Gi"), (state(MADE, "1Ti"), "50Gi", "1Ti")],
)
def test_a_disk_does_not_shrink(deployed: Deployed, size: str, has: str) -> None:
    with pytest.raises(ConfigurationError, match=f"at least {has}, which the disk has") as error:
        planned_disk(stored(disk=Disk(size=size)), deployed, CLUSTER)
    line = (
        "az aks command invoke --name aks-dev --resource-group rg-dev --subscription "
        f"{answers.SUBSCRIPTION} --command 'kubectl delete persistentvolumeclaim data-pyroscope-0"
    )
    assert line in str(error.value)


def test_no_disk_is_no_disk() -> None:
    assert planned_disk(stored(), state(MADE), CLUSTER) is None


@pytest.mark.parametrize(
    ("deployed", "planned"),
    [
        (Deployed({}), DiskArgs(size="20Gi")),
        (state(MADE), DiskArgs(size="50Gi")),
        (state(MADE, "1Ti"), DiskArgs(size="50Gi", grown_to="1Ti")),
    ],
)
def test_a_disk_that_only_blob_asks_for_is_small_unless_there_is_one(
    deployed: Deployed, planned: DiskArgs
) -> None:
    assert planned_disk(stored(blob=Blob()), deployed, CLUSTER) == planned


OF_INGESTERS = {"components": {"ingester": {"persistence": {"enabled": True, "size": "30Gi"}}}}


def test_the_disks_of_ingesters_are_others_than_that_of_one_server() -> None:
    one_server = state(MADE)
    assert planned_disk(of_micro_services(), one_server, CLUSTER) == DiskArgs(size="20Gi")
    ingesters = Deployed({RELEASE: Document({"values": {"pyroscope": OF_INGESTERS}})})
    assert planned_disk(of_micro_services(), ingesters, CLUSTER) == DiskArgs(size="30Gi")
    larger = planned_disk(of_micro_services(Disk(size="1Ti")), ingesters, CLUSTER)
    assert larger == DiskArgs(size="30Gi", grown_to="1Ti")
    assert planned_disk(stored(blob=Blob()), ingesters, CLUSTER) == DiskArgs(size="20Gi")
    with pytest.raises(ConfigurationError, match="component=ingester --namespace gadget"):
        planned_disk(of_micro_services(Disk(size="20Gi")), ingesters, CLUSTER)


# --- what a Helm that was cut off has left ------------------------------------------------------

NAMES = names_for("gpuobs", "dev", answers.SUBSCRIPTION)
DONE = ("superseded", "deployed", "pending-upgrade")


def records(link: str, *statuses: str) -> tuple[ReleaseRecord, ...]:
    return tuple(record(status, link, number) for number, status in enumerate(statuses, 1))


def in_the_way(
    found: tuple[ReleaseRecord, ...], *names: str, link: str = "", unknown: bool = False
) -> list[str]:
    """The status of each record that goes; ``link`` is the stack file's name of the link."""
    named = {"privateLink": {"name": link}} if link else {}
    wanted = settings(WITH_METRICS, pyroscope=named)
    request = survey_request(wanted, NAMES, PROVIDER)
    facts = InsideFacts(presence=Presence.FOUND, release_records=found)
    deployed = EVERYTHING if unknown else Deployed(dict.fromkeys(names, Document({})))
    removed = records_in_the_way(Survey(inside=facts), request, deployed)
    return [one.status for one in removed]


@pytest.mark.parametrize(
    ("names", "statuses", "removed"),
    [
        # Helm goes on from the revision before the one that it has not finished.
        ((GUARD, RELEASE), DONE, ["pending-upgrade"]),
        ((GUARD, RELEASE), ("deployed", "pending-rollback"), ["pending-rollback"]),
        ((GUARD, RELEASE), ("superseded", "deployed"), []),
        # Without a release in the state: Helm installs, and takes over what is there.
        ((GUARD,), ("pending-install",), ["pending-install"]),
        ((GUARD,), ("deployed",), ["deployed"]),
        ((GUARD,), ("failed", "pending-upgrade"), ["failed", "pending-upgrade"]),
        ((), ("pending-install",), ["pending-install"]),
    ],
)
def test_of_its_own_release_a_stack_removes_what_keeps_helm_from_going_on(
    names: tuple[str, ...], statuses: tuple[str, ...], removed: list[str]
) -> None:
    assert in_the_way(records(NAMES.private_link, *statuses), *names) == removed


def test_a_link_that_the_stack_file_names_makes_a_release_its_own_once_its_guard_is_there() -> None:
    found = records("pls", "pending-install")
    assert in_the_way(found, GUARD, link="pls") == ["pending-install"]
    assert in_the_way(found, link="pls") == []
    assert in_the_way(found, link="pls", unknown=True) == []


@pytest.mark.parametrize("link", ["", "another"])
def test_a_record_that_is_not_known_to_be_this_stacks_stays(link: str) -> None:
    assert in_the_way(records(link, "pending-install"), GUARD) == []
    mixed = (*records(NAMES.private_link, "deployed"), *records(link, "pending-upgrade"))
    assert in_the_way(mixed, GUARD) == []
    assert in_the_way(mixed, GUARD, RELEASE) == []


def of(*names: str, records: tuple[ReleaseRecord, ...] = ()) -> answers.Azure:
    inside = InsideFacts(presence=Presence.FOUND, release_records=records)
    azure = answers.Azure(answers.EXISTING.model_copy(update={"inside": inside}))
    azure.deployed = [f"urn:pulumi:dev::gpuobs::command:local:Command::{name}" for name in names]
    return azure


def test_the_update_after_one_that_was_cut_off_says_what_it_removes_before_the_release(
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = names_for("gpuobs", "dev", answers.SUBSCRIPTION)
    (found,) = records(names.private_link, "pending-install")
    recorded = run(sections("dev"), of(GUARD, records=(found,)))

    assert "sh.helm.release.v1.pyroscope.v1 (pending-install)" in caplog.text
    recovery = recorded.named(RECOVERY)
    assert (
        recovery.inputs["create"]
        == recovery.inputs["update"]
        == "sh operations/run recover-release"
    )
    assert json.loads(recovery.inputs["stdin"]) == {
        "clusterId": CLUSTER,
        "admin": False,
        "namespace": "gadget",
        "records": [{"name": found.name, "uid": found.uid, "status": found.status}],
    }
    assert recovery.ignore_changes == set()
    assert RECOVERY in recorded.named(RELEASE).depends_on


def test_afterwards_it_stays_as_it_is_and_a_stack_that_never_was_cut_off_has_none() -> None:
    later = run(sections("dev"), of(GUARD, RELEASE, RECOVERY)).named(RECOVERY)
    assert later.ignore_changes == {"stdin"}
    others = run(sections("dev"), of(GUARD, RELEASE)).resources
    assert RECOVERY not in {one.name for one in others}


# --- an extension that neither Helm nor Azure can remove ----------------------------------------

EXTENSION = "inspektor-gadget-extension"
EXTENSION_RECOVERY = "inspektor-gadget-extension-recovery"
STUCK = InstalledExtension(
    presence=Presence.FOUND,
    id=f"{CLUSTER}/providers/Microsoft.KubernetesConfiguration/extensions/inspektor-gadget",
    name="inspektor-gadget",
    provisioning_state="Failed",
    message="failed to delete release: azure-gadget",
    helm_release="azure-gadget",
    not_removed="1",
)


@pytest.mark.parametrize(
    ("own", "found", "is_recovered"),
    [
        ({"name": "inspektor-gadget"}, STUCK, True),
        ({"name": "Inspektor-Gadget"}, STUCK, True),
        ({"name": "inspektor-gadget"}, STUCK.model_copy(update={"not_removed": ""}), False),
        ({"name": "another"}, STUCK, False),
        ({}, STUCK, False),
    ],
)
def test_only_this_stacks_own_extension_is_forgotten_and_only_where_helm_may_not_remove_it(
    own: dict[str, str], found: InstalledExtension, *, is_recovered: bool
) -> None:
    deployed = Deployed({EXTENSION: Document(own)} if own else None)
    left = extension_in_the_way(Survey(installed=found), deployed)
    assert (left is not None) is is_recovered


def recovering(*more: str, stuck: bool = True) -> answers.Azure:
    azure = answers.Azure(answers.EXISTING.model_copy(update={"installed": STUCK} if stuck else {}))
    azure.outputs = {EXTENSION: {"name": "inspektor-gadget"}}
    azure.deployed = [f"urn:pulumi:dev::gpuobs::x::{name}" for name in (EXTENSION, *more)]
    return azure


def test_one_that_is_forgotten_is_made_again_after_it_and_the_namespace_is_its_releases(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorded = run(sections("dev"), recovering())
    assert "Its chart carries the namespace gadget" in caplog.text
    assert "forget the extension inspektor-gadget, and Helm its release azure-gadget" in caplog.text
    recovery = recorded.named(EXTENSION_RECOVERY)
    assert recovery.inputs["create"] == "sh operations/run recover-extension"
    assert json.loads(recovery.inputs["stdin"]) == {
        "clusterId": CLUSTER,
        "admin": False,
        "namespace": "gadget",
        "extensionId": STUCK.id,
        "release": "azure-gadget",
        "seen": "1",
    }
    assert recovery.ignore_changes == set()
    extension = recorded.named(EXTENSION)
    assert EXTENSION_RECOVERY in extension.depends_on
    kept = recorded.named("inspektor-gadget-namespace-protection")
    assert json.loads(kept.inputs["stdin"])["release"] == "azure-gadget"


def test_what_makes_an_extension_another_one_changes_with_its_recovery_alone() -> None:
    never = run(sections("dev"), recovering(stuck=False)).named(EXTENSION).replacement_trigger
    assert never
    during = run(sections("dev"), recovering()).named(EXTENSION).replacement_trigger
    later = run(sections("dev"), recovering(EXTENSION_RECOVERY, stuck=False))
    assert later.named(EXTENSION_RECOVERY).ignore_changes == {"stdin"}
    assert during == later.named(EXTENSION).replacement_trigger != never


@pytest.mark.parametrize(
    ("said", "marked_for", "release"),
    [
        ("", "inspektor-gadget", ""),
        ("", "azure-gadget", "azure-gadget"),
        ("", None, ""),
        ("azure-gadget", "inspektor-gadget", "azure-gadget"),
        # It could not be removed, and is named like the extension: so is the next one.
        ("inspektor-gadget", "inspektor-gadget", ""),
    ],
)
def test_a_release_of_a_name_of_its_own_is_learnt_once_and_stays_known(
    said: str, marked_for: str | None, release: str
) -> None:
    kept = NamespaceRequest(
        cluster_id=CLUSTER, namespace="gadget", service="pyroscope", release=marked_for
    )
    done = KeptNamespace(namespace="gadget", protected=True)
    command = Document({"stdin": kept.to_json(), "stdout": done.to_json()})
    own = {
        Own.NAMESPACE_PROTECTION.value: command,
        EXTENSION: Document({"name": "inspektor-gadget"}),
    }
    installed = STUCK.model_copy(update={"helm_release": said})
    assert extension_release(installed, Deployed(own)) == release


# --- what was changed by hand of the release's objects ------------------------------------------

REPAIR = "pyroscope-release-repair"
STATEFUL_SET = "/apis/apps/v1/namespaces/gadget/statefulsets/pyroscope"
SERVICE = "/api/v1/namespaces/gadget/services/pyroscope"


def changed(
    *objects: DriftedObject, problem: str = "", made: tuple[str, ...] = (GUARD, RELEASE)
) -> answers.Azure:
    inside = InsideFacts(presence=Presence.NOT_ASKED, drifted=objects, drift_problem=problem)
    azure = answers.Azure(answers.EXISTING.model_copy(update={"inside": inside}))
    azure.deployed = [f"urn:pulumi:dev::gpuobs::command:local:Command::{name}" for name in made]
    return azure


def drifted(path: str, *fields: str, restarts: bool = False) -> DriftedObject:
    kind = "StatefulSet" if path == STATEFUL_SET else "Service"
    return DriftedObject(
        path=path, name=f"{kind} gadget/pyroscope", seen="7", fields=fields, restarts=restarts
    )


def test_a_changed_object_is_put_back_by_a_command_after_the_release_and_before_the_link(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = drifted(SERVICE, "metadata.annotations.example")
    recorded = run(sections("dev"), changed(found))
    assert "Service gadget/pyroscope was changed by hand: metadata.annotations.example." in (
        caplog.text
    )
    assert "the server is not restarted for it" in caplog.text
    repair = recorded.named(REPAIR)
    assert repair.inputs["create"] == repair.inputs["update"] == "sh operations/run repair-release"
    assert json.loads(repair.inputs["stdin"])["objects"] == [
        json.loads(found.model_dump_json(by_alias=True))
    ]
    assert repair.ignore_changes == set()
    assert RELEASE in repair.depends_on
    assert REPAIR in recorded.named("pyroscope-private-link-ready").depends_on


def test_once_put_back_it_stays_as_it_is_and_an_untouched_stack_has_none() -> None:
    later = run(sections("dev"), changed(made=(GUARD, RELEASE, REPAIR))).named(REPAIR)
    assert later.ignore_changes == {"stdin"}
    others = run(sections("dev"), changed()).resources
    assert REPAIR not in {one.name for one in others}


@pytest.mark.parametrize(
    ("storage", "lost"),
    [
        ({}, "the profiles in its pod are lost, as there is no disk"),
        ({"disk": {}}, "it writes its profiles to the disk first"),
    ],
)
def test_where_putting_it_back_restarts_the_server_it_is_said_what_is_lost(
    storage: dict[str, object], lost: str
) -> None:
    found = drifted(STATEFUL_SET, "spec.template.spec.dnsPolicy", restarts=True)
    (said,) = said_of_drift(
        InsideFacts(presence=Presence.NOT_ASKED, drifted=(found,)),
        StorageSettings.model_validate(storage),
    )
    assert said.endswith(f"which restarts the server: {lost}.")


def test_what_was_deleted_is_said_with_what_went_along() -> None:
    (said,) = said_of_drift(
        InsideFacts(presence=Presence.NOT_ASKED, drifted=(drifted(SERVICE),)), StorageSettings()
    )
    assert "was deleted by hand" in said
    assert "its Private Link Service and Grafana's connection" in said


def test_what_could_not_be_seen_is_said_and_nothing_is_put_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorded = run(sections("dev"), changed(problem="the API server answers 403"))
    assert "could not be seen, and nothing is put back: the API server answers 403" in caplog.text
    assert REPAIR not in {one.name for one in recorded.resources}


# --- the namespace that is kept ------------------------------------------------------------------

KEPT = "inspektor-gadget-namespace-protection"
REQUEST = NamespaceRequest(cluster_id=CLUSTER, namespace="gadget", service="pyroscope")


def protection(*, protected: bool, request: str = REQUEST.to_json()) -> Deployed:
    answer = KeptNamespace(namespace="gadget", protected=protected).to_json()
    return Deployed({KEPT: Document({"stdin": request, "stdout": answer})})


def test_a_namespace_that_was_protected_is_looked_at_as_it_was_asked_for() -> None:
    assert kept_namespace(protection(protected=True)) == REQUEST


@pytest.mark.parametrize(
    "own",
    [
        EVERYTHING,
        Deployed({}),
        protection(protected=False),
        protection(protected=True, request="{}"),
    ],
)
def test_one_that_never_was_protected_is_not(own: Deployed) -> None:
    assert kept_namespace(own) is None


def test_one_that_is_not_kept_any_more_is_kept_again_and_it_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inside = InsideFacts(presence=Presence.NOT_ASKED, unkept="another")
    azure = answers.Azure(answers.EXISTING.model_copy(update={"inside": inside}))
    command = run(sections("dev"), azure).named(KEPT)
    assert command.inputs["environment"] == {"GPUOBS_OBSERVED": "another"}
    assert command.ignore_changes == set()
    assert "has lost the mark for the extension or its protection" in caplog.text
    assert run(sections("dev"), answers.Azure(answers.EXISTING)).named(KEPT).ignore_changes == {
        "environment"
    }


# --- what is looked for in the cluster -----------------------------------------------------------


def test_the_cluster_is_looked_into_as_long_as_the_pod_monitor_of_the_alerts_is_not_deployed() -> (
    None
):
    alerting = settings(WITH_METRICS, alerts={"email": ["oncall@example.com"]})
    own = {one.value for one in Own} - {Own.POD_MONITOR.value}
    assert survey_request(alerting, NAMES, PROVIDER, deployed=own).look_inside
    own.add(Own.POD_MONITOR.value)
    assert not survey_request(alerting, NAMES, PROVIDER, deployed=own).look_inside
