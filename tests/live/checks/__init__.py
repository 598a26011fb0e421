"""Every check: by section, and within a phase in the order in which they run."""

from typing import Final

from tests.live.check import Check
from tests.live.checks import (
    agent,
    before,
    cluster,
    engine,
    grafana,
    measuring,
    private_link,
    profiles,
)

CHECKS: Final[tuple[Check, ...]] = (
    *before.CHECKS,
    *cluster.CHECKS,
    *private_link.CHECKS,
    *grafana.CHECKS,
    *measuring.CHECKS,
    # Changes how the server runs, after what is asked of one server.
    *profiles.CHECKS,
    *engine.CHECKS,
    # Takes the agent away, after the release.
    *agent.CHECKS,
    # The cluster may not be usable after it.
    before.user_credentials,
)
