"""What a destroy leaves of Blob Storage, and why a server does not get at it."""

import pytest

from contract.messages.base import Verb
from contract.messages.storage import KeptStorageRequest, StorageStartRequest
from operations.errors import ExitCode
from simulator.values import as_object
from tests.operations.conftest import CLUSTER_ID, GROUP_ID, Azure, Operations
from tests.simulator.azure import Kubernetes, pyroscope_values

ACCOUNT_ID = f"{GROUP_ID}/providers/Microsoft.Storage/storageAccounts/profiles1"
START = StorageStartRequest(
    cluster_id=CLUSTER_ID,
    namespace="gadget",
    pod="pyroscope-0",
    account="profiles1",
    container="profiles",
    client_id="66666666-6666-4666-8666-666666666666",
)


def test_what_stays_is_named_with_the_line_that_deletes_it(operations: Operations) -> None:
    request = KeptStorageRequest(account_id=ACCOUNT_ID, container="profiles")
    assert operations.succeed(Verb.HOLD_PROFILE_STORAGE, request).stderr == ""
    said = operations.succeed(Verb.LEAVE_PROFILE_STORAGE, request).stderr
    assert "The storage account profiles1 stays" in said
    assert "az storage account delete --name profiles1 --resource-group rg-dev" in said


@pytest.fixture
def cluster(azure: Azure) -> Kubernetes:
    kubernetes = Kubernetes(azure, CLUSTER_ID)
    kubernetes.make_namespace()
    return kubernetes


def test_a_server_that_starts_is_seen_to_start(cluster: Kubernetes, operations: Operations) -> None:
    cluster.release()
    assert operations.succeed(Verb.AWAIT_PROFILE_STORAGE, START).answer == {"started": True}


def test_a_server_that_is_kept_out_is_explained_by_its_log(
    cluster: Kubernetes, operations: Operations
) -> None:
    values = as_object(pyroscope_values()["pyroscope"])
    bucket = {"account_name": "profiles1", "container_name": "profiles"}
    values["structuredConfig"] = {"storage": {"backend": "azure", "azure": bucket}}
    cluster.release({"pyroscope": values})
    refused = operations(Verb.AWAIT_PROFILE_STORAGE, START, "--deadline", "30")
    said = refused.stderr
    assert refused.exit_code == ExitCode.FORBIDDEN
    assert "does not get at container profiles of storage account profiles1" in said
    assert "the pod was given no token of an identity" in said


def test_whatever_else_keeps_a_server_from_starting_is_left_to_helm(
    cluster: Kubernetes, operations: Operations
) -> None:
    answer = operations.succeed(Verb.AWAIT_PROFILE_STORAGE, START, "--deadline", "5").answer
    assert answer == {"started": False}
