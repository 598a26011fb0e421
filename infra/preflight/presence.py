"""Checks of whether what the settings name is there and may be read: a fix for each kind of no."""

import re
from collections.abc import Iterator

from contract.azure import NOT_REGISTERED
from contract.lines import line, register_provider, show_resource
from contract.messages.survey import Presence, Survey, SurveyRequest
from infra.faults import Fault
from infra.preflight.finding import Finding, Place

_TENANT = re.compile(r"must match the tenant 'https://[^/']+/([0-9a-fA-F-]{36})/?'")
"""In Azure's words for a token of another tenant (InvalidAuthenticationTokenTenant)."""


def check_tokens(survey: Survey, request: SurveyRequest) -> Iterator[Finding]:
    """Whether Azure takes the caller's token, said once for all that was looked up."""
    subscription = request.subscription_id or request.provider_subscription_id
    # Of what is named by an id in another subscription, each says so itself.
    looked_up = {
        facts.presence: facts.detail
        for facts, path in (
            (survey.cluster, request.cluster_id),
            (survey.grafana, request.grafana_id),
            (survey.workspace, request.workspace_id),
        )
        if path and Place("", "", path).subscription.lower() == subscription.lower()
    }
    refused = Presence.UNAUTHENTICATED
    if refused not in looked_up and survey.resource_group is not refused:
        return
    detail = looked_up.get(refused, "")
    match = _TENANT.search(detail)
    which = "" if match else " (TENANT is its id or domain, which the subscription's owner knows)"
    yield Fault(
        path=f"subscription {subscription}",
        rule="Azure must accept the token of this machine; it does not",
        why=f"nothing could be looked up.{_said(detail)}",
        fix="sign in to the tenant of the subscription: "
        f"{line('az', 'login', '--tenant', match[1] if match else 'TENANT')}{which}, or set "
        "ARM_TENANT_ID to it",
    )


def check_presence(
    place: Place, presence: Presence, detail: str, survey: Survey
) -> Iterator[Finding]:
    """What to say where a lookup did not find the thing; each case needs its own fix."""
    if presence is Presence.ABSENT:
        similar = line(
            *("az", "resource", "list", "--name", place.name),
            *("--subscription", place.subscription, "--output", "table"),
        )
        yield place.fault(
            rule=f"must exist in subscription {place.subscription}; it does not",
            why=f"everything else builds on it.{_said(detail)}",
            fix=f"check name, resource group and gpuobs:azure.subscriptionId against: {similar}",
        )
    elif presence is Presence.FORBIDDEN:
        yield place.fault(
            rule="you must be allowed to read it",
            why=f"it may exist, but Azure does not show it to you.{_said(detail)}",
            fix=f"ask its owner for a role such as Contributor on {place.id}, or sign in as "
            "somebody who has one (az login)",
        )
    elif (
        presence is Presence.UNAUTHENTICATED
        and place.subscription.lower() not in ("", survey.subscription_id.lower())
        and survey.subscription_id
    ):
        match = _TENANT.search(detail)
        yield place.fault(
            rule=f"must be in the tenant you are signed in to; subscription {place.subscription} "
            "is in another" + (f" ({match[1]})" if match else ""),
            why="tokens, roles and Grafana's endpoint are of one tenant, and so is a stack."
            f"{_said(detail)}",
            fix="name one in a subscription of the same tenant",
        )
    elif presence is Presence.UNREGISTERED and place.provider not in survey.unregistered:
        # Where the registrations could be read, they are reported already.
        yield place.fault(
            rule=f"needs the resource provider {place.provider} registered",
            why=f"Azure refuses its resources with {NOT_REGISTERED}.{_said(detail)}",
            fix=register_provider(place.provider, place.subscription),
        )
    elif presence is Presence.REFUSED:
        yield place.fault(
            rule="must be readable; Azure refuses to show it",
            why=f"whether it exists is not known.{_said(detail)}",
            fix="do what Azure says, and run it again",
        )
    elif presence is Presence.UNREACHABLE:
        yield place.fault(
            rule="must be readable; Azure did not answer",
            why=f"whether it exists is not known.{_said(detail)}",
            fix="check the network and the proxy of this machine, and run it again",
        )


def check_complete(place: Place, **facts: str) -> Iterator[Finding]:
    """Whether Azure says of a thing that is there what the stack passes on, e.g. ``location``."""
    missing = [name.replace("_", " ") for name, value in facts.items() if not value]
    if missing:
        yield place.fault(
            rule=f"Azure must state its {' and '.join(missing)}; the answer has none",
            why="the stack passes it on, and would pass on an empty one.",
            fix=f"wait until it is made, and compare: {show_resource(place.id)}",
        )


def _said(detail: str) -> str:
    return f" Azure says: {detail}" if detail else ""
