"""What the stack's own state tells of earlier updates: a disk that is there, an install cut off."""

import pytest

from components.pyroscope_disk import DiskArgs
from contract.azure import cluster_id
from contract.json import Document
from infra.deployed import Deployed
from infra.disk import planned_disk
from infra.faults import ConfigurationError
from infra.interrupted import interrupted_install
from infra.settings import Blob, Disk, StorageSettings
from tests.unit import answers
from tests.unit.test_program import run, sections

CLUSTER = cluster_id(answers.SUBSCRIPTION, "rg-dev", "aks-dev")
GUARD, RELEASE, GROWN = "pyroscope-private-link-guard", "pyroscope-release", "pyroscope-disk"


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
    assert planned_disk(StorageSettings(disk=Disk(size=size)), deployed) == planned


@pytest.mark.parametrize(
    ("deployed", "size", "has"),
    [(state(MADE), "49Gi", "50Gi"), (state(MADE, "1Ti"), "50Gi", "1Ti")],
)
def test_a_disk_does_not_shrink(deployed: Deployed, size: str, has: str) -> None:
    with pytest.raises(ConfigurationError, match=f"at least {has}, which the disk has"):
        planned_disk(StorageSettings(disk=Disk(size=size)), deployed)


def test_no_disk_is_no_disk() -> None:
    assert planned_disk(StorageSettings(), state(MADE)) is None


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
    assert planned_disk(StorageSettings(blob=Blob()), deployed) == planned


def test_an_install_that_was_cut_off_is_named_with_the_line_that_removes_its_record() -> None:
    said = interrupted_install(Deployed({GUARD: Document({})}), CLUSTER)

    assert "cannot re-use a name that is still in use" in said
    assert (
        "az aks command invoke --name aks-dev --resource-group rg-dev --subscription "
        f"{answers.SUBSCRIPTION} --command 'kubectl delete secret --namespace gadget --selector "
        "owner=helm,name=pyroscope'"
    ) in said


@pytest.mark.parametrize("names", [(), (GUARD, RELEASE)])
def test_without_an_install_that_was_cut_off_nothing_is_said(names: tuple[str, ...]) -> None:
    assert interrupted_install(Deployed(dict.fromkeys(names, Document({}))), CLUSTER) == ""


def test_the_program_reads_its_own_state(caplog: pytest.LogCaptureFixture) -> None:
    azure = answers.Azure()
    azure.deployed = [f"urn:pulumi:dev::gpuobs::command:local:Command::{GUARD}"]
    run(sections("dev"), azure)

    assert "cannot re-use a name that is still in use" in caplog.text
