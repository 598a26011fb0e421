"""``python -m operations.serving``: answers one program's requests until that program ends.

A program surveys what exists and observes what it made, a moment apart. Azure's SDK takes longer to
import than either takes to answer, so the program starts this process before its own imports: by
the time it asks, everything is imported and signed in.

A line of JSON in (:class:`~contract.messages.serving.Question`), a line out
(:class:`~contract.messages.serving.Reply`).
"""

import gc
import os
import signal
import sys
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import NoReturn

from contract.azure import ARM_URL, scope_of
from contract.messages.base import Message, Verb
from contract.messages.drift import ObserveRequest
from contract.messages.serving import Question, Reply
from contract.messages.survey import SurveyRequest
from operations.errors import ExitCode, OperationError, explained
from operations.session import Session
from operations.streams import use_utf8


def main() -> NoReturn:
    """Answer until standard input ends: with the program, whatever ended that."""
    use_utf8()
    # The program decides what an interrupt ends, and this process ends with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions: SimpleQueue[str] = SimpleQueue()
    Thread(target=_answer_all, args=(questions,), daemon=True).start()
    for line in sys.stdin:
        questions.put(line)
    # Also in the middle of a lookup: nobody waits for it any more.
    os._exit(ExitCode.OK)


def _answer_all(questions: SimpleQueue[str]) -> None:
    with Session(verb="program") as session:
        _prepare(session)
        while True:
            question = Question.model_validate_json(questions.get())
            try:
                answer = _answer(question, session)
                reply = Reply(answer=answer.model_dump(mode="json", by_alias=True))
            except Exception as error:
                reply = Reply(error=explained(error, question.verb))
            print(reply.to_json(), flush=True)  # noqa: T201 - the answer


def _answer(question: Question, session: Session) -> Message:
    if question.verb is Verb.SURVEY:
        from operations.survey import survey

        return survey(SurveyRequest.model_validate(question.request), session)
    if question.verb is Verb.OBSERVE:
        from operations.observe import observe

        return observe(ObserveRequest.model_validate(question.request), session)
    raise OperationError(ExitCode.BAD_REQUEST, f"{question.verb} is not answered beside a program.")


def _prepare(session: Session) -> None:
    """Sign in, and import meanwhile what answers need."""
    _ = session.azure.credential
    Thread(target=_sign_in, args=(session,), daemon=True).start()
    from operations import observe, survey

    del observe, survey


def _sign_in(session: Session) -> None:
    # Reported where a question needs the token.
    with suppress(OperationError):
        session.azure.token(scope_of(ARM_URL))


if __name__ == "__main__":
    # As in operations/__main__.py: a collection takes longer than the work.
    gc.disable()
    main()
