"""What must hold of things that exist already, checked before the first resource is touched.

Pure: :func:`survey_request` says what to look up, the operation ``survey`` looks it up (the program
runs it), and :func:`evaluate` turns the facts into what the program needs to know, or into one
message that says everything that does not fit. What the stack file alone can tell is checked by
:mod:`infra.settings`; what can only be known by trying (a wrong proxy, a full region) is left to
the resources themselves.
"""

from infra.preflight.agent import check_contract
from infra.preflight.caller import caller_of
from infra.preflight.checks import Existing, evaluate, operation_in_progress
from infra.preflight.on_grafana import wanted_on_grafana
from infra.preflight.request import ClientConfig, survey_request

__all__ = [
    "ClientConfig",
    "Existing",
    "caller_of",
    "check_contract",
    "evaluate",
    "operation_in_progress",
    "survey_request",
    "wanted_on_grafana",
]
