"""Checks of Azure Blob Storage for profiles: the account, its container, and who may sign in."""

from collections.abc import Container, Iterator

from contract.choices import OnDestroy
from contract.lines import delete_storage_account, line, make_container
from contract.messages.survey import ClusterFacts, Presence, StorageFacts, Survey, SurveyRequest
from infra.deployed import Own
from infra.preflight.finding import Finding, Place
from infra.preflight.presence import check_presence
from infra.settings import Settings

_BLOB = "gpuobs:pyroscope.storage.blob"


def is_kept(
    settings: Settings, survey: Survey, request: SurveyRequest, deployed: Container[str]
) -> bool:
    """Whether the account is the one that an earlier deployment of this stack has kept."""
    return (
        settings.pyroscope.storage.makes_account
        and survey.storage.presence is Presence.FOUND
        and survey.storage.mark == request.storage_mark
        and Own.STORAGE_ACCOUNT not in deployed
    )


def check_storage(
    settings: Settings, survey: Survey, request: SurveyRequest, deployed: Container[str]
) -> Iterator[Finding]:
    """What keeps profiles from Blob, before Pyroscope would restart for want of it."""
    if request.storage_account_id is None:
        return
    storage, found = settings.pyroscope.storage, survey.storage
    where = f"{_BLOB}.existing" if not storage.makes_account else _BLOB
    place = Place(where, "storage account", request.storage_account_id)
    kept = is_kept(settings, survey, request, deployed)
    if not storage.makes_account:
        yield from check_presence(place, found.presence, found.detail, survey)
    elif found.presence is Presence.FOUND and not kept and Own.STORAGE_ACCOUNT not in deployed:
        yield _anothers(place, found)
    elif found.name_refused:
        yield place.fault(
            rule=f"cannot be made under the name {place.name}",
            why=f"Azure says of it: {found.name_refused.rstrip('.')}. Names of storage accounts "
            "are unique in all of Azure.",
            fix="write blob: { account: NAME } with another name",
        )
    if not storage.makes_account or kept:
        yield from _as_it_is(place, found, request)
    if kept and storage.on_destroy is OnDestroy.DELETE:
        yield (
            f"Storage account {place.name} was kept by an earlier deployment of this stack, which "
            "uses it again and no longer deletes it, whatever onDestroy says. To delete it, with "
            f"all profiles, once the stack is gone: {delete_storage_account(place.id)}"
        )


def _anothers(place: Place, found: StorageFacts) -> Finding:
    whose = f"stack `{found.mark}`" if found.mark else "no stack of this program"
    return place.fault(
        rule=f"must be this stack's own; there is one of that name, made by {whose}",
        why="profiles of two stacks would mix, and one would delete the other's.",
        fix="write blob: { account: NAME } with another name; to use a container of it as it is, "
        f"blob: {{ existing: {{ account: {place.name}, resourceGroup: {place.resource_group}, "
        "container: CONTAINER } } with the container's name",
    )


def _as_it_is(place: Place, found: StorageFacts, request: SurveyRequest) -> Iterator[Finding]:
    """What must hold of an account that this stack does not change."""
    if found.container is Presence.ABSENT:
        yield place.fault(
            rule=f"must hold container {request.storage_container}; it does not",
            why="Pyroscope's role is on that container alone, and there must be one to give it on.",
            fix=make_container(place.id, request.storage_container),
        )
    if not found.open:
        yield (
            f"Storage account {place.name} does not let every network in. Where the cluster's "
            "nodes reach it neither by a private endpoint nor by a rule of its firewall, Pyroscope "
            "stops at its start with `AuthorizationFailure` (403) and restarts endlessly. What its "
            "firewall lets in: "
            + line(
                *("az", "storage", "account", "network-rule", "list"),
                *("--account-name", place.name, "--resource-group", place.resource_group),
                *("--subscription", place.subscription),
            )
        )


def check_sign_in(settings: Settings, place: Place, cluster: ClusterFacts) -> Iterator[Finding]:
    """Whether pods of an existing cluster can sign in as an identity of Azure."""
    if settings.pyroscope.storage.blob is None:
        return
    missing = [
        what
        for what, there in (
            ("its OIDC issuer", cluster.issuer_url),
            ("workload identity", cluster.workload_identity),
        )
        if not there
    ]
    if missing:
        yield place.fault(
            rule=f"`storage.blob` needs {' and '.join(missing)} turned on there",
            why="Pyroscope signs in to Blob by workload identity; without it there is no way but a "
            "key, which this program uses nowhere.",
            fix=line(
                *("az", "aks", "update", "--enable-oidc-issuer", "--enable-workload-identity"),
                *place.options,
            ),
        )
