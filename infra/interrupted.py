"""What a Helm that was cut off has left, and whether it is this stack's own to remove."""

from collections.abc import Container, Iterator

from contract.messages.survey import ReleaseRecord, Survey, SurveyRequest
from infra.deployed import EVERYTHING, Own

_PENDING = "pending-"
"""How Helm's status of what it has not finished begins."""


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


def said_of(records: tuple[ReleaseRecord, ...]) -> Iterator[str]:
    """A sentence about what is removed."""
    if records:
        names = ", ".join(f"{record.name} ({record.status})" for record in records)
        yield (
            "An earlier update ended while Helm was at work on Pyroscope. `pulumi up` removes what "
            f"Helm keeps of it, {names}, and goes on with what is there."
        )
