"""What the program asks of the world through the operations: what exists, and what has drifted.

Both run in a preview too, with the same credentials as the commands, and change nothing. Failures
become sentences.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol, TypeVar

import pulumi
from pydantic import ValidationError

from contract.messages.base import Message, Verb
from contract.messages.drift import Observation, ObserveRequest
from contract.messages.serving import Question, Reply
from contract.messages.survey import Survey, SurveyRequest

M = TypeVar("M", bound=Message)


class Operations(Protocol):
    """Whoever answers: :class:`infra.operations_process.OperationsProcess`."""

    def ask(self, question: str) -> str:
        """The :class:`Reply` to a :class:`Question`, each a line of JSON; raises OSError."""
        ...

    def close(self) -> None:
        """Nothing more will be asked."""
        ...


class NoAnswerError(Exception):
    """The operations gave no answer; the message is theirs, for the person at the terminal."""


def survey(operations: Operations, request: SurveyRequest) -> Survey:
    """What exists already.

    Raises:
        pulumi.RunError: where the operations cannot be run on this machine at all.
    """
    try:
        return _answer(operations, Verb.SURVEY, request, Survey)
    except NoAnswerError as error:
        raise pulumi.RunError(
            f"What exists in Azure could not be looked up, so nothing was changed.\n{error}"
        ) from None


def observe(
    operations: Operations, request: pulumi.Output[ObserveRequest]
) -> pulumi.Output[Mapping[str, str]]:
    """The revisions of the objects in ``request``, by name; the last thing asked of ``operations``.

    What could not be observed is reported as a warning; its revision is a fresh one, so it is
    applied again.
    """

    def revisions(message: ObserveRequest) -> Mapping[str, str]:
        try:
            observation = _answer(operations, Verb.OBSERVE, message, Observation)
            if unseen := message.names - observation.revisions.keys():
                names = ", ".join(sorted(unseen))
                raise NoAnswerError(f"`{Verb.OBSERVE}` answered nothing of {names}")
        except NoAnswerError as error:
            raise pulumi.RunError(
                f"What this stack made on Grafana could not be observed.\n{error}"
            ) from None
        operations.close()
        for problem in observation.problems:
            pulumi.log.warn(problem)
        return observation.revisions

    async def beside(message: ObserveRequest) -> Mapping[str, str]:
        # Other resources go on meanwhile.
        return await asyncio.get_running_loop().run_in_executor(None, revisions, message)

    return request.apply(beside)


def _answer(operations: Operations, verb: Verb, request: Message, kind: type[M]) -> M:
    question = Question(verb=verb, request=request.model_dump(mode="json", by_alias=True))
    try:
        reply = Reply.model_validate_json(operations.ask(question.to_json()))
        if reply.error:
            raise NoAnswerError(reply.error)
        return kind.model_validate(reply.answer)
    except ValidationError as error:
        name = kind.__name__.lower()
        raise NoAnswerError(f"`{verb}` answered something other than a {name}: {error}") from None
    except OSError as error:
        raise NoAnswerError(str(error)) from None
