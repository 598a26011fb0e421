"""The rules of `pyroscope.storage`: in the pod, on a disk, or on a disk and in Blob."""

import pytest

from contract.choices import OnDestroy
from infra.settings import StorageSettings, loss
from tests.unit.stack_files import CREATED, faults, settings

MADE: dict[str, object] = {"blob": {}}
OURS = {"existing": {"account": "ours", "resourceGroup": "rg", "container": "profiles"}}
THERE: dict[str, object] = {"blob": OURS}


def storage(**changes: object) -> StorageSettings:
    return settings(pyroscope={"storage": changes}).pyroscope.storage


def test_blob_comes_with_a_small_disk_a_months_retention_and_an_account_that_stays() -> None:
    found = storage(**MADE)
    assert found.planned_disk is not None
    assert found.planned_disk.size == "20Gi"
    assert (found.retention_period, found.lookback) == ("30d", "30d")
    assert found.on_destroy is OnDestroy.KEEP
    assert found.makes_account
    assert not storage(**THERE).makes_account


def test_a_disk_alone_is_as_it_was() -> None:
    found = storage(disk={})
    assert found.planned_disk is not None
    assert found.planned_disk.size == "50Gi"
    assert (found.retention_period, found.lookback, found.block_minutes) == (None, None, None)
    assert storage().planned_disk is None


def test_profiles_that_are_kept_for_ever_can_be_looked_for_at_any_age() -> None:
    found = storage(blob={}, retention="forever")
    assert (found.retention_period, found.lookback) == (None, "0s")


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ({"retention": "30d"}, "retention"),
        ({"lossWindow": "40m"}, "lossWindow"),
        ({"onDestroy": "keep"}, "onDestroy"),
        ({"disk": {}, "onDestroy": "delete"}, "onDestroy"),
        ({**THERE, "onDestroy": "delete"}, "onDestroy"),
        ({"blob": {}, "retention": "12h"}, "retention"),
        ({"blob": {}, "retention": "0d"}, "retention"),
        ({"blob": {}, "lossWindow": "29m"}, "lossWindow"),
        ({"blob": {}, "lossWindow": "1h"}, "lossWindow"),
        ({"blob": {}, "disk": {"size": "19Gi"}}, "disk.size"),
        ({"blob": {"account": "Not-A-Name"}}, "blob.account"),
        ({"blob": {**OURS, "account": "mine"}}, "blob.existing"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(wanted: dict[str, object], path: str) -> None:
    assert set(faults(pyroscope={"storage": wanted})) == {f"pyroscope.storage.{path}"}


@pytest.mark.parametrize(
    ("window", "block"), [("30m", 5), ("40m", 15), ("54m", 20), ("55m", 30), ("85m", 60), ("9m", 0)]
)
def test_a_block_is_as_long_as_the_loss_window_lets_it_be(window: str, block: int) -> None:
    if block:
        assert storage(disk={}, lossWindow=window).block_minutes == block
        assert loss.lost_with_the_disk(block) <= int(window[:-1])
    else:
        assert faults(pyroscope={"storage": {"disk": {}, "lossWindow": window}})


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"serviceAccount": {"create": False}}, "serviceAccount.create"),
        (
            {"serviceAccount": {"annotations": {"azure.workload.identity/client-id": "x"}}},
            "serviceAccount.annotations.azure.workload.identity/client-id",
        ),
        (
            {"extraLabels": {"azure.workload.identity/use": "true"}},
            "extraLabels.azure.workload.identity/use",
        ),
    ],
)
def test_with_blob_the_way_to_sign_in_is_the_products(values: dict[str, object], path: str) -> None:
    both: dict[str, object] = {"storage": MADE, "values": {"pyroscope": values}}
    assert set(faults(pyroscope=both)) == {f"pyroscope.values.pyroscope.{path}"}
    assert not faults(pyroscope={"values": {"pyroscope": values}})


@pytest.mark.parametrize(
    "values",
    [
        {"structuredConfig": {"pyroscopedb": {"max_block_duration": "30m"}}},
        {"extraArgs": {"pyroscopedb.max-block-duration": "30m"}},
    ],
)
def test_the_length_of_a_block_is_said_once(values: dict[str, object]) -> None:
    both: dict[str, object] = {
        "storage": {"disk": {}, "lossWindow": "40m"},
        "values": {"pyroscope": values},
    }
    assert set(faults(pyroscope=both)) == {"pyroscope.storage.lossWindow"}


def test_an_account_that_stays_needs_a_group_that_stays() -> None:
    def found(storage: dict[str, object]) -> set[str]:
        return set(faults(CREATED, pyroscope={"storage": storage}))

    assert found({"blob": {}}) == {"pyroscope.storage.onDestroy"}
    assert found({"blob": {"resourceGroup": "RG"}}) == {"pyroscope.storage.onDestroy"}
    assert found({"blob": {"resourceGroup": "rg-profiles"}}) == set()
    assert found({"blob": {}, "onDestroy": "delete"}) == set()
    assert found(THERE) == set()


@pytest.mark.parametrize(
    ("tags", "rule"),
    [
        ({f"t{number}": "x" for number in range(50)}, "at most 49 tags, not 50"),
        ({"n" * 129: "x"}, "at most 128 characters with a storage account"),
    ],
)
def test_an_account_has_room_for_the_tag_by_which_its_stack_knows_it(
    tags: dict[str, str], rule: str
) -> None:
    found = faults(azure={"tags": tags}, pyroscope={"storage": MADE})
    assert set(found) == {"azure.tags"}
    assert rule in found["azure.tags"].rule
    for storage_settings in ({}, THERE):
        settings(azure={"tags": tags}, pyroscope={"storage": storage_settings})


def test_alerts_know_how_long_a_profile_takes_to_the_bucket() -> None:
    usual = settings(pyroscope={"storage": {"blob": {}}}).pyroscope.storage
    shorter = settings(pyroscope={"storage": {"blob": {}, "lossWindow": "40m"}}).pyroscope.storage
    assert (usual.upload_minutes, shorter.upload_minutes) == (85, 40)
