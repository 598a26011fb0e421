"""Deploy-time operations as resources: a command that runs one verb of :mod:`operations`.

The engine keeps a command's text, environment and standard input in its state, and runs the
deleting verb with them on another machine months later. So they are the same everywhere: a launcher
relative to the program's directory, and a request without secrets, paths or anything that expires.
"""

from collections.abc import Sequence
from typing import TypeVar

import pulumi
from pulumi_command.local import Command, Logging

from contract.messages.base import OBSERVED_VARIABLE, Message, Verb, command_line

_Answer = TypeVar("_Answer", bound=Message)


def operation(
    name: str,
    verb: Verb,
    request: pulumi.Input[str],
    *,
    update: Verb | None = None,
    delete: Verb | None = None,
    triggers: Sequence[pulumi.Input[str]] = (),
    opts: pulumi.ResourceOptions,
) -> Command:
    """A command that runs ``verb`` with ``request`` (one line of JSON) when created or changed.

    With ``update`` that verb runs when it is changed. ``delete`` runs with the same request when
    the command goes. A change of a trigger replaces it: deleting and then applying again. So the
    triggers are what an applied object is found by.
    """
    return _command(name, verb, request, update=update, delete=delete, triggers=triggers, opts=opts)


def observed_operation(
    name: str,
    verb: Verb,
    request: pulumi.Input[str],
    *,
    observed: pulumi.Input[str] | None,
    delete: Verb | None = None,
    triggers: Sequence[pulumi.Input[str]] = (),
    opts: pulumi.ResourceOptions,
) -> Command:
    """An operation whose object can drift: ``observed`` is the revision that ``observe`` answered.

    It is the live object's own while the object is as requested, so nothing changes; otherwise it
    is a fresh one, so the command runs again and stores it. None: drift is not looked for.
    """
    if observed is None:
        # That of an earlier run is left as it is: turning the detection off changes nothing.
        opts = pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(ignore_changes=["environment"])
        )
    return _command(
        name, verb, request, delete=delete, triggers=triggers, observed=observed, opts=opts
    )


def _command(
    name: str,
    verb: Verb,
    request: pulumi.Input[str],
    *,
    update: Verb | None = None,
    delete: Verb | None,
    triggers: Sequence[pulumi.Input[str]],
    observed: pulumi.Input[str] | None = None,
    opts: pulumi.ResourceOptions,
) -> Command:
    return Command(
        name,
        create=command_line(verb),
        update=command_line(update or verb),
        delete=command_line(delete) if delete is not None else None,
        stdin=request,
        triggers=[*triggers] or None,
        environment={OBSERVED_VARIABLE: observed} if observed is not None else None,
        # Progress (stderr) is shown while a verb waits; the answer (stdout) is read below.
        logging=Logging.STDERR,
        # A verb reads its request and nothing else: the last answer must not leak into the next
        # run.
        add_previous_output_in_env=False,
        opts=opts,
    )


def answer(command: Command, kind: type[_Answer]) -> pulumi.Output[_Answer]:
    """What the verb answered; unknown in a preview in which the command is to run."""
    return command.stdout.apply(kind.model_validate_json)
