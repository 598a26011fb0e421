"""Looking at a Grafana that is not Azure's: does it answer, and may the token do what is needed.

Facts for :mod:`operations.survey`, from Grafana's HTTP API: the health, which needs no token, what
the signed-in account may do (``/api/access-control/user/actions``), and the settings of a plugin,
which are 404 where it is not installed.
"""

from contract.messages.survey import OnGrafana, OwnGrafanaFacts, Presence, WantedOnGrafana
from contract.messages.survey import WantedOwnGrafana as Wanted
from operations.azure import presence_of
from operations.errors import ExitCode, OperationError
from operations.grafana import Grafana, segment
from operations.on_grafana import look as look_for_others
from operations.session import Session


def look(
    wanted: Wanted, objects: WantedOnGrafana | None, session: Session
) -> tuple[OwnGrafanaFacts, OnGrafana]:
    """The facts, and what ``objects`` would meet there."""

    def probe() -> tuple[OwnGrafanaFacts, OnGrafana]:
        grafana = Grafana(session, wanted.url, token_variable=wanted.token_variable)
        facts = _facts(wanted, grafana)
        return facts, look_for_others(objects, grafana) if objects else OnGrafana()

    try:
        return session.clock.look(probe, "Grafana")
    except OperationError as error:
        presence, detail = presence_of(error), error.sentence()
        return OwnGrafanaFacts(presence=presence, detail=detail, fix=error.fix), OnGrafana()


def _facts(wanted: Wanted, grafana: Grafana) -> OwnGrafanaFacts:
    version = _version(grafana)
    allowed = _allowed(grafana)
    return OwnGrafanaFacts(
        presence=Presence.FOUND,
        version=version,
        permissions_known=allowed is not None,
        missing_permissions=tuple(
            one for one in wanted.permissions if allowed is not None and one not in allowed
        ),
        missing_plugins=tuple(one for one in wanted.plugins if not _has(grafana, one)),
    )


def _version(grafana: Grafana) -> str:
    """What it says to anybody; a refusal there is not Grafana's."""
    try:
        return grafana.get("/api/health", "ask for its version", "").text("version")
    except OperationError as error:
        if error.service_code in ("401", "403"):
            raise OperationError(
                ExitCode.REJECTED,
                f"What answers at {grafana.endpoint} is not Grafana, or a sign-in in front of it.",
                why=error.sentence(),
                fix="check the URL, and use one that reaches Grafana's own API",
            ) from error
        raise


def _allowed(grafana: Grafana) -> frozenset[str] | None:
    """What the service account may do; None where this Grafana does not say."""
    found = grafana.find("/api/access-control/user/actions", "ask what the token may do", "")
    if found is None:
        return None
    return frozenset(action for action in found.fields if found.flag(action))


def _has(grafana: Grafana, plugin: str) -> bool:
    found = grafana.find(f"/api/plugins/{segment(plugin)}/settings", f"look for {plugin}", "")
    return found is not None
