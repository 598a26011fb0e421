"""What a Helm that was cut off or refused has left, and whether it is this stack's to remove."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from contract.messages.survey import InstalledExtension, ReleaseRecord, Survey, SurveyRequest
from infra.deployed import EVERYTHING, Deployed, Own

_PENDING = "pending-"
"""How Helm's status of what it has not finished begins."""


@dataclass(frozen=True, kw_only=True)
class LeftBehind:
    """What earlier runs, or people, have left half-done, and what this stack has done about it."""

    records: tuple[ReleaseRecord, ...]
    """Helm's, that are in the way of this stack's release."""
    was_recovered: bool
    """Whether an earlier update has removed such records."""
    was_repaired: bool
    """Whether an earlier update has put objects of the release back."""
    extension: InstalledExtension | None
    """This stack's, where neither Helm nor Azure can remove it."""
    extension_was_recovered: bool
    """Whether an earlier update has let them forget one."""


def left_behind(survey: Survey, request: SurveyRequest, own: Deployed) -> LeftBehind:
    """All of it."""
    return LeftBehind(
        records=records_in_the_way(survey, request, own),
        was_recovered=Own.RELEASE_RECOVERY in own.known,
        was_repaired=Own.RELEASE_REPAIR in own.known,
        extension=extension_in_the_way(survey, own),
        extension_was_recovered=Own.EXTENSION_RECOVERY in own.known,
    )


def records_in_the_way(
    survey: Survey, request: SurveyRequest, deployed: Container[str]
) -> tuple[ReleaseRecord, ...]:
    """Helm's records without which it goes on with this stack's release; none of somebody else's.

    Where the stack has a release, those that Helm has not finished: it goes on from the one before.
    Where it has none, all, also of an install that ended after Pulumi did: Helm installs again, and
    takes over what carries the release's name.
    """
    found = survey.inside.release_records
    if not all(is_own(record, request, deployed) for record in found):
        return ()
    if Own.RELEASE in deployed:
        return tuple(one for one in found if one.status.startswith(_PENDING))
    return found


def is_own(record: ReleaseRecord, request: SurveyRequest, deployed: Container[str]) -> bool:
    """Whether the record is of this stack's release, as far as its private link's name tells.

    A name that only this stack gives is enough. With one of the stack file's, the release's guard
    must be there as well: it is made right before the release.
    """
    link = record.private_link_name
    if not link and request.private_link_name is None:
        # Without a private link there is no such name: it is where the stack has a release.
        return Own.RELEASE in deployed and deployed is not EVERYTHING
    if not link or link != request.private_link_name:
        return False
    guarded = Own.RELEASE_GUARD in deployed and deployed is not EVERYTHING
    return guarded or link == request.only_own_link


def extension_in_the_way(survey: Survey, deployed: Deployed) -> InstalledExtension | None:
    """This stack's extension, where neither Helm nor Azure can remove it; else None.

    Another stack's, and one whose own state cannot be read, stays.
    """
    found = survey.installed
    own = deployed.outputs_of(Own.EXTENSION).text("name")
    is_own = found.name.lower() == own.lower()
    return found if found.not_removed and is_own else None


def said_of(left: LeftBehind) -> Iterator[str]:
    """Sentences about what is removed, or forgotten."""
    if left.records:
        names = ", ".join(f"{record.name} ({record.status})" for record in left.records)
        yield (
            "An earlier update ended while Helm was at work on Pyroscope. `pulumi up` removes what "
            f"Helm keeps of it, {names}, and goes on with what is there."
        )
    if left.extension is not None:
        yield (
            f"`pulumi up` lets Azure forget the extension {left.extension.name}, and Helm its "
            f"release {left.extension.helm_release}, and makes the extension again; Pyroscope, its "
            "disk and its private link stay as they are."
        )
