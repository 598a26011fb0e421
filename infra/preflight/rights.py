"""Whether the caller has the rights of :mod:`infra.rights`, where the answer was read."""

from collections.abc import Container, Iterator

from contract.azure import name_of
from contract.lines import assign_role
from contract.messages.survey import Presence, RightFacts, Survey, SurveyRequest
from infra.deployed import EVERYTHING
from infra.faults import Fault
from infra.preflight.caller import caller_of
from infra.preflight.finding import ELIGIBLE, Finding
from infra.rights import RIGHTS, On, Right


def check_rights(
    survey: Survey, request: SurveyRequest, deployed: Container[str], *, collects: bool
) -> Iterator[Finding]:
    """A fault for each right that is missing, unless what it is needed for is deployed.

    ``collects`` says whether this stack's own rule brings the metrics to the workspace.
    """
    unread: list[str] = []
    for facts in survey.rights:
        right = RIGHTS[facts.key]
        if not _counts(right, survey) or (right.where_collected and not collects):
            continue
        if not facts.known:
            unread.append(facts.scope)
        elif facts.missing:
            yield _missing(right, facts, survey, request, deployed)
        elif facts.eligible:
            yield (
                f"You may {_actions(facts.eligible)} on {facts.scope} only once you have activated "
                "a role that you are eligible for (portal, Privileged Identity Management > My "
                f"roles > Azure resources); until then {_purpose(right)} is refused."
            )
        elif facts.conditional:
            yield (
                f"You may {_actions(facts.conditional)} on {facts.scope} only under the condition "
                f"of a role assignment; where it is not met, {_purpose(right)} is refused."
            )
    if unread and deployed is not EVERYTHING:
        places = " and ".join(dict.fromkeys(unread))
        yield f"Whether you have the rights that a deployment needs on {places} cannot be read."


def _counts(right: Right, survey: Survey) -> bool:
    """Whether it is known that the right is needed, and what it is on is there."""
    if right.on is On.LINK_GROUP:
        return False  # counts only where a role is missing there: check_private_link
    found = {On.CLUSTER: survey.cluster.presence, On.GRAFANA: survey.grafana.presence}
    if found.get(right.on, Presence.FOUND) is not Presence.FOUND:
        return False  # which is reported already
    if right.on is On.OWN_GROUP and survey.resource_group not in _MAY_BE_THERE:
        return False
    return not right.with_azure_rbac or survey.cluster.azure_rbac


_MAY_BE_THERE = (Presence.FOUND, Presence.NOT_ASKED)


def _missing(
    right: Right,
    facts: RightFacts,
    survey: Survey,
    request: SurveyRequest,
    deployed: Container[str],
) -> Finding:
    caller = caller_of(survey, request)
    assign = assign_role(
        role=right.role, assignee=caller.assignee, kind=caller.type, scope=facts.scope
    )
    rule = f"you must be allowed to {_actions(facts.missing)} on it; no role of yours allows that"
    if right.optional or all(own in deployed for own in right.makes):
        return f"{facts.scope}: {rule}. It is for {_purpose(right)}: {assign}"
    return Fault(
        path=f"{name_of(facts.scope)} ({right.on.value})",
        rule=rule,
        why=f"it is for {_purpose(right)}, and Azure would refuse that in the middle of `up`.",
        fix=assign + caller.note + ELIGIBLE,
    )


def _purpose(right: Right) -> str:
    return right.purpose.partition(";")[0].partition(", only")[0]


def _actions(actions: tuple[str, ...]) -> str:
    return " and ".join(actions)
