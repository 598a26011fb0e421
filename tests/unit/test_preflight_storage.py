"""What is found of Blob Storage before Pyroscope would restart for want of it."""

from typing import Any

from contract.messages.survey import Presence, StorageFacts, Survey
from infra.names import names_for
from infra.settings import Settings
from tests.unit.stack_files import settings
from tests.unit.test_preflight import (
    asked,
    checked,
    evaluate,
    fault,
    faults,
    with_cluster,
)

MARK = names_for("gpuobs", "dev").request_message
THERE = {"account": "ours", "resourceGroup": "rg-ours", "container": "profiles"}


def blob(**storage: Any) -> Settings:
    return settings(pyroscope={"storage": {"blob": {}, **storage}})


def survey(storage: StorageFacts | None = None, **cluster: Any) -> Survey:
    facts = {"issuer_url": "https://issuer", "workload_identity": True, **cluster}
    found = storage or StorageFacts(presence=Presence.ABSENT)
    return with_cluster(**facts).model_copy(update={"storage": found})


def account(**facts: Any) -> StorageFacts:
    return StorageFacts(presence=Presence.FOUND, container=Presence.FOUND, **facts)


def test_an_account_of_the_stacks_own_is_looked_for_by_its_name() -> None:
    request = asked(blob())
    assert (request.storage_account_id or "").endswith(
        f"/rg-dev/providers/Microsoft.Storage/storageAccounts/"
        f"{names_for('gpuobs', 'dev').storage_account}"
    )
    assert request.storage_container == "profiles"
    assert {"Microsoft.Storage", "Microsoft.ManagedIdentity"} <= set(request.namespaces)
    assert asked(settings()).storage_account_id is None


def test_a_cluster_whose_pods_cannot_sign_in_is_found_with_the_line_that_lets_them() -> None:
    found = fault(survey(issuer_url="", workload_identity=False), blob())
    assert "its OIDC issuer and workload identity" in found
    assert (
        "az aks update --enable-oidc-issuer --enable-workload-identity --name aks-dev "
        "--resource-group rg-dev"
    ) in found
    assert "needs workload identity turned on" in fault(survey(workload_identity=False), blob())
    assert faults(survey(issuer_url="", workload_identity=False), settings()) == []


def test_another_stacks_account_is_refused_and_named() -> None:
    found = fault(survey(account(mark="gpuobs gpuobs prod 12345678")), blob(), deployed=())
    assert "made by stack `gpuobs gpuobs prod 12345678`" in found
    assert "no stack of this program" in fault(survey(account()), blob(), deployed=())


def test_a_name_that_somebody_in_azure_has_is_found_before_anything_is_made() -> None:
    taken = StorageFacts(presence=Presence.ABSENT, name_refused="It is already taken.")
    found = fault(survey(taken), blob(), deployed=())
    assert "Azure says of it: It is already taken. Names" in found
    assert "blob: { account: NAME }" in found
    assert asked(blob()).makes_storage
    assert not asked(blob(blob={"existing": THERE})).makes_storage


def test_an_account_that_an_earlier_deployment_kept_is_used_again() -> None:
    found = evaluate(blob(), survey(account(mark=MARK)), asked(blob()), ())
    assert found.storage_kept
    assert not evaluate(blob(), survey(), asked(blob()), ()).storage_kept
    mine = evaluate(blob(), survey(account(mark=MARK)), asked(blob()), {"profile-storage-account"})
    assert not mine.storage_kept, "what is in the state is managed as ever"


def test_a_kept_account_is_never_deleted_and_the_line_that_does_it_is_said() -> None:
    delete = blob(onDestroy="delete")
    (warning,) = evaluate(delete, survey(account(mark=MARK)), asked(delete), ()).warnings
    assert "az storage account delete --name" in warning


def test_a_container_that_is_not_there_is_found_with_the_line_that_makes_it() -> None:
    there = blob(blob={"existing": THERE})
    facts = StorageFacts(presence=Presence.FOUND, container=Presence.ABSENT)
    assert (
        "az storage container-rm create --name profiles --storage-account ours "
        "--resource-group rg-ours"
    ) in fault(survey(facts), there)
    assert "must exist" in fault(survey(), there)


def test_a_firewall_is_warned_of_with_what_pyroscope_would_say() -> None:
    there = blob(blob={"existing": THERE})
    (warning,) = checked(survey(account(open=False)), there).warnings
    assert "AuthorizationFailure" in warning
    assert "az storage account network-rule list --account-name ours" in warning
    assert checked(survey(account()), there).warnings == ()
