"""The exit statuses of every verb, in one table.

Scripts branch on them, so a number never changes its meaning. Up to 10 they are those of the
deploy-time steps (:class:`operations.errors.ExitCode`); the failures of reading profiles follow.
"""

from enum import IntEnum

from flamegraphs import errors
from operations.errors import ExitCode


class Status(IntEnum):
    """An exit status, its meaning, and what to do about it."""

    meaning: str
    advice: str

    def __new__(cls, number: int, meaning: str, advice: str = "") -> "Status":
        """A member with its two texts."""
        status = int.__new__(cls, number)
        status._value_ = number
        status.meaning = meaning
        status.advice = advice
        return status

    DONE = 0, "done"
    FAILED = (
        1,
        "a failure without a status of its own",
        "read the message; for an unexpected one, GPUOBS_DEBUG=1 shows the traceback",
    )
    USAGE = 2, "the command line is not understood", "see `--help` of the verb"
    NOT_FOUND = (
        3,
        "what is needed does not exist: the stack, an output of it, the `pulumi` command",
        "deploy the stack, or name another one",
    )
    FORBIDDEN = 4, "a role is missing", "get the role that the message names"
    REJECTED = (
        5,
        "a service, or Pulumi, refused this request",
        "read the message; repeating does not help",
    )
    CONFLICT = (
        6,
        "a name or uid is in use by another owner",
        "choose another name, or see who owns it",
    )
    UNREACHABLE = (
        7,
        "no answer, or not the expected server's",
        "check the network, the address, and the approval of the private endpoint",
    )
    NOT_AUTHENTICATED = 8, "no credential, or one that is not accepted", "sign in: `az login`"
    BUSY = 9, "the service is throttling, failing or occupied", "try again later"
    NO_SIGNAL = 10, "`check` found a broken link", "the report names it and the fix"
    NO_PROFILE_TYPE = (
        11,
        "the server has no profile of this type",
        "check that the agent runs and its profiles arrive: `check`",
    )
    NO_SAMPLES = 12, "no samples in the window", "widen the window, or run the workload"
    NOT_A_PROFILE = 13, "a file that is not a profile", ""
    GROWTH = 14, "`diff` or `explain` found growth, and --fail-on-growth was given", ""
    INTERRUPTED = 130, "interrupted", ""


_PROFILES: dict[type[errors.FlameGraphError], Status] = {
    errors.FlameGraphError: Status.FAILED,
    errors.UsageError: Status.USAGE,
    errors.UnreachableError: Status.UNREACHABLE,
    errors.NotAuthorisedError: Status.FORBIDDEN,
    errors.NotSignedInError: Status.NOT_AUTHENTICATED,
    errors.TypeAbsentError: Status.NO_PROFILE_TYPE,
    errors.NoSamplesError: Status.NO_SAMPLES,
    errors.NotAProfileError: Status.NOT_A_PROFILE,
    errors.GrowthOverLimitError: Status.GROWTH,
}


def of_operation(kind: ExitCode) -> Status:
    """The status for a failure of the operations: the same number."""
    return Status(kind)


def of_profile(error: errors.FlameGraphError) -> Status:
    """The status for a failure to read or compare profiles."""
    return next(_PROFILES[kind] for kind in type(error).__mro__ if kind in _PROFILES)
