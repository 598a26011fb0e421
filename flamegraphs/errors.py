"""What can go wrong for the person who asked, one class and one exit status for each.

Every message is a sentence that says what happened, where, and what to do next. Statuses are part
of the command line's interface (a CI job branches on them), so they never change their meaning.
Status 2 is the command line's own: arguments that do not fit.
"""

OK = 0


class FlameGraphError(Exception):
    """A failure that is explained in one message; the base of all others. Exit status 1."""

    status = 1


class UsageError(FlameGraphError):
    """Arguments that do not fit together. Exit status 2, as argparse has it."""

    status = 2


class UnreachableError(FlameGraphError):
    """The server did not answer, or something that is no Pyroscope or Grafana did."""

    status = 3


class NotAuthorisedError(FlameGraphError):
    """The server refused who asked."""

    status = 4


class NotSignedInError(NotAuthorisedError):
    """There was no credential to ask with."""


class TypeAbsentError(FlameGraphError):
    """No profile of the wanted type is known to the server: nothing has pushed one."""

    status = 5


class NoSamplesError(FlameGraphError):
    """The type exists, but nothing was recorded in this window for this selector."""

    status = 6


class NotAProfileError(FlameGraphError):
    """A file that cannot be read as a profile: another format, cut short, damaged or hostile."""

    status = 7


class GrowthOverLimitError(FlameGraphError):
    """``diff --fail-on-growth`` found more growth than allowed."""

    status = 8
