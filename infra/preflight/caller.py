"""Who deploys, as role assignments and ``az`` lines name them."""

from dataclasses import dataclass

from contract.choices import PrincipalType
from contract.messages.survey import Survey, SurveyRequest


@dataclass(frozen=True, kw_only=True)
class Caller:
    """An identity in Microsoft Entra."""

    object_id: str
    """Empty where neither the operations nor the provider could tell."""
    type: PrincipalType

    @property
    def assignee(self) -> str:
        """The object id, or what a person puts theirs in place of."""
        return self.object_id or "YOUR-OBJECT-ID"

    @property
    def note(self) -> str:
        """What follows a line with :attr:`assignee`: where theirs is found, if it is not known."""
        if self.object_id:
            return ""
        return " (YOUR-OBJECT-ID is that of whoever deploys, which Microsoft Entra ID shows)"


def caller_of(survey: Survey, request: SurveyRequest) -> Caller:
    """Who the operations are in Azure; the provider's identity where their token does not say.

    Without a claim that says what it is, it is taken for a person, who signed in with the CLI.
    """
    is_service = survey.caller_kind == "servicePrincipal"
    return Caller(
        object_id=survey.caller_object_id or request.provider_object_id,
        type=PrincipalType.SERVICE_PRINCIPAL if is_service else PrincipalType.USER,
    )
