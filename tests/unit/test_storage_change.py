"""What a change of storage takes away is said before it is made."""

import pytest

from contract.json import Document
from contract.microservices import ServerMode
from infra.deployed import Deployed
from infra.settings import Blob, Disk, StorageSettings
from infra.storage_change import mode_change, storage_change

POD: dict[str, object] = {}
DISK: dict[str, object] = {"persistence": {"enabled": True}}
BLOB: dict[str, object] = {**DISK, "structuredConfig": {"storage": {"backend": "azure"}}}
WANTED = {
    "pod": StorageSettings(),
    "disk": StorageSettings(disk=Disk()),
    "blob": StorageSettings(blob=Blob()),
}


def said(deployed: dict[str, object], wanted: str) -> str:
    release = Document({"values": {"pyroscope": deployed}})
    return storage_change(WANTED[wanted], Deployed({"pyroscope-release": release}))


@pytest.mark.parametrize(
    ("deployed", "wanted", "words"),
    [
        (POD, "disk", "Those in the pod are lost"),
        (POD, "blob", "Those in the pod are lost"),
        (DISK, "blob", "stays on it and is not shown"),
        (DISK, "pod", "The disk's claim and what is on it stay"),
        (BLOB, "disk", "writes what it still holds to Blob first"),
        (BLOB, "pod", "What is in Blob is not shown"),
    ],
)
def test_each_change_says_what_is_lost_or_no_longer_shown(
    deployed: dict[str, object], wanted: str, words: str
) -> None:
    assert words in said(deployed, wanted)


@pytest.mark.parametrize(("deployed", "wanted"), [(POD, "pod"), (DISK, "disk"), (BLOB, "blob")])
def test_what_stays_is_not_talked_about(deployed: dict[str, object], wanted: str) -> None:
    assert said(deployed, wanted) == ""
    assert storage_change(WANTED[wanted], Deployed({})) == ""


INGESTERS: dict[str, object] = {"components": {"ingester": {"kind": "StatefulSet"}}}


def switched(deployed: dict[str, object], wanted: ServerMode) -> str:
    release = Document({"values": {"pyroscope": deployed}})
    return mode_change(wanted, Deployed({"pyroscope-release": release}))


def test_a_change_of_mode_says_for_how_long_nothing_is_recorded_and_what_is_shown_later() -> None:
    there = switched(BLOB, ServerMode.DISTRIBUTED)
    back = switched(BLOB | INGESTERS, ServerMode.SINGLE)
    assert there.startswith("Pyroscope runs as one server and will run as micro-services.")
    assert back.startswith("Pyroscope runs as micro-services and will run as one server.")
    for words in ("an estimate is 5 to 20 minutes", "writes all it holds to Blob first", "4 hours"):
        assert words in there
        assert words in back


def test_a_mode_that_stays_is_not_talked_about() -> None:
    assert switched(BLOB, ServerMode.SINGLE) == ""
    assert switched(BLOB | INGESTERS, ServerMode.DISTRIBUTED) == ""
    assert mode_change(ServerMode.DISTRIBUTED, Deployed({})) == ""
