"""What the program asks of the world through the operations: what exists, and what has drifted.

Both run in a preview too, through the same provider and credentials as the commands, and change
nothing. Failures become sentences.
"""

from collections.abc import Mapping

import pulumi
from pulumi_command import local
from pydantic import ValidationError

from contract.messages.base import Message, Verb, command_line
from contract.messages.drift import Observation
from contract.messages.survey import Survey, SurveyRequest


def survey(request: SurveyRequest) -> Survey:
    """What exists already.

    Raises:
        pulumi.RunError: where the operations cannot be run on this machine at all.
    """
    try:
        result = local.run(
            command=command_line(Verb.SURVEY),
            stdin=request.to_json(),
            logging=local.Logging.NONE,
            add_previous_output_in_env=False,
        )
        return Survey.model_validate_json(result.stdout)
    except ValidationError as error:
        raise pulumi.RunError(
            f"`{command_line(Verb.SURVEY)}` answered something other than a survey: {error}"
        ) from None
    # The SDK raises a plain Exception for an invoke that failed.
    except Exception as error:
        raise pulumi.RunError(
            "What exists in Azure could not be looked up, so nothing was changed.\n"
            f"{_without_frame(str(error))}"
        ) from None


def observe(request: pulumi.Output[Message]) -> pulumi.Output[Mapping[str, str]]:
    """The revisions of the objects in ``request`` (an ``ObserveRequest``), by name.

    What could not be observed is reported as a warning; its revision is a fresh one, so it is
    applied again.
    """
    result = local.run_output(
        command=command_line(Verb.OBSERVE),
        stdin=request.apply(lambda message: message.to_json()),
        logging=local.Logging.NONE,
        add_previous_output_in_env=False,
    )
    return result.apply(lambda found: _revisions(found.stdout))


def _revisions(stdout: str) -> Mapping[str, str]:
    observation = Observation.model_validate_json(stdout)
    for problem in observation.problems:
        pulumi.log.warn(problem)
    return observation.revisions


def _without_frame(message: str) -> str:
    """The words of the operation itself: the engine wraps them in where it called from."""
    return message.partition(f'running "{command_line(Verb.SURVEY)}":')[2].strip() or message
