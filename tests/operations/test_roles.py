"""Whether a right is there: by a role, a role of somebody's own, a group, or the service's word.

A right that is there is never told as missing; what cannot be known is told as that.
"""

import uuid

import pytest

from contract.messages.survey import Survey
from simulator.values import JsonObject, as_object
from tests.operations.conftest import (
    CLUSTER_ID,
    GRAFANA_ADMIN,
    GRAFANA_ID,
    GRAFANA_VIEWER,
    SUBSCRIPTION,
    WORKSPACE_ID,
    Azure,
    Operations,
)
from tests.operations.test_survey import IN_THE_CLUSTER, POOL_WRITE, READER, WANTED_RIGHT, survey

CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"
DEFINITIONS = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
PERSON, TEAM, COMPANY = (f"{number}" * 8 + "-5555-4555-8555-555555555555" for number in "567")
AS_ADMIN = "Microsoft.Dashboard/grafana/ActAsGrafanaAdmin/action"
READ_METRICS = "Microsoft.Monitor/accounts/data/metrics/read"


def assign(azure: Azure, role: str, principal: str, kind: str, scope: str) -> None:
    properties = {
        "roleDefinitionId": f"{DEFINITIONS}/{role}",
        "principalId": principal,
        "principalType": kind,
    }
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    azure.arm("PUT", path, "2022-04-01", {"properties": properties})


def own_role(azure: Azure, *data_actions: str) -> str:
    """A role of somebody's own; its GUID."""
    name = str(uuid.uuid4())
    permissions: JsonObject = {"actions": ["*/read"], "dataActions": list(data_actions)}
    properties = {
        "roleName": f"own {name[:4]}",
        "type": "CustomRole",
        "permissions": [permissions],
        "assignableScopes": [f"/subscriptions/{SUBSCRIPTION}"],
    }
    azure.arm("PUT", f"{DEFINITIONS}/{name}", "2022-04-01", {"properties": properties})
    return name


@pytest.fixture
def person(azure: Azure) -> str:
    """Somebody who may read, in a team that is in a company."""
    azure.settings(
        principals=[
            {"id": PERSON, "kind": "User", "name": "somebody"},
            {"id": TEAM, "kind": "Group", "name": "team", "members": [PERSON]},
            {"id": COMPANY, "kind": "Group", "name": "company", "members": [TEAM]},
        ]
    )
    assign(azure, READER, PERSON, "User", f"/subscriptions/{SUBSCRIPTION}")
    return PERSON


def seen_by(azure: Azure, operations: Operations, person: str) -> Survey:
    azure.settings(caller=person)
    azure.control("POST", "advance", {"seconds": 600})
    return survey(operations)


@pytest.mark.parametrize("holder", [PERSON, TEAM, COMPANY])
def test_a_role_counts_through_every_group(
    azure: Azure, operations: Operations, person: str, holder: str
) -> None:
    kind = "User" if holder == PERSON else "Group"
    assign(azure, GRAFANA_ADMIN, holder, kind, GRAFANA_ID)
    assert seen_by(azure, operations, person).grafana.caller_may_admin is True


def test_a_role_of_ones_own_counts_for_what_it_allows(
    azure: Azure, operations: Operations, person: str
) -> None:
    assign(azure, own_role(azure, AS_ADMIN), person, "User", GRAFANA_ID)
    assert seen_by(azure, operations, person).grafana.caller_may_admin is True


def test_a_role_that_allows_less_is_none(azure: Azure, operations: Operations, person: str) -> None:
    assign(azure, GRAFANA_VIEWER, person, "User", GRAFANA_ID)
    assert seen_by(azure, operations, person).grafana.caller_may_admin is False


def test_grafanas_own_word_counts_where_no_role_is_listed(
    azure: Azure, operations: Operations
) -> None:
    # Through a group that Entra ID does not resolve for this caller.
    azure.fault("GET", f".*{GRAFANA_ID}/.*/roleAssignments", {"patch": {"value": []}}, count=None)
    assert survey(operations).grafana.caller_may_admin is True


def test_a_role_whose_definition_cannot_be_read_leaves_it_open(
    azure: Azure, operations: Operations, person: str
) -> None:
    assign(azure, own_role(azure, AS_ADMIN), person, "User", GRAFANA_ID)
    body = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    azure.fault("GET", ".*/(roleDefinitions|user)/.*", {"status": 403, "body": body}, count=None)
    azure.settings(caller=person)
    found = survey(operations).grafana
    assert found.caller_may_admin is None


def test_grafanas_identity_may_read_metrics_by_a_role_of_ones_own(
    azure: Azure, operations: Operations
) -> None:
    for path in as_object(azure.inspect()["resources"]):
        if "/amw-dev/providers/microsoft.authorization/" in path.lower():
            azure.arm("DELETE", path, "2022-04-01")
    assert survey(operations).workspace.grafana_may_read is False
    identity = survey(operations).grafana.principal_id
    assign(azure, own_role(azure, READ_METRICS), identity, "ServicePrincipal", WORKSPACE_ID)
    assert survey(operations).workspace.grafana_may_read is True


# --- roles that wait to be activated --------------------------------------------------------------


def eligible(azure: Azure, role: str, holder: str, scope: str) -> None:
    azure.settings(eligible=[{"principal": holder, "role": role, "scope": scope}])


@pytest.mark.parametrize("holder", [PERSON, COMPANY])
@pytest.mark.parametrize("scope", [f"/subscriptions/{SUBSCRIPTION}", CLUSTER_ID])
def test_what_a_role_allows_that_waits_to_be_activated_is_eligible_not_missing(
    azure: Azure, operations: Operations, person: str, holder: str, scope: str
) -> None:
    eligible(azure, CONTRIBUTOR, holder, scope)
    azure.settings(caller=person)
    (found,) = survey(operations, rights=(WANTED_RIGHT,)).rights
    # Contributor allows nothing inside the cluster.
    assert (found.eligible, found.missing) == ((POOL_WRITE,), (IN_THE_CLUSTER,))


@pytest.mark.parametrize(
    ("holder", "scope"), [(PERSON, GRAFANA_ID), ("8" * 8 + PERSON[8:], CLUSTER_ID)]
)
def test_a_role_that_waits_elsewhere_or_for_another_changes_nothing(
    azure: Azure, operations: Operations, person: str, holder: str, scope: str
) -> None:
    eligible(azure, CONTRIBUTOR, holder, scope)
    azure.settings(caller=person)
    (found,) = survey(operations, rights=(WANTED_RIGHT,)).rights
    assert (found.eligible, found.missing) == ((), (POOL_WRITE, IN_THE_CLUSTER))


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 400, "body": {"error": {"code": "AadPremiumLicenseRequired", "message": "no"}}},
        {"status": 200, "text": "<html>"},
    ],
)
def test_where_it_cannot_be_known_what_waits_a_right_stays_missing(
    azure: Azure, operations: Operations, person: str, answer: JsonObject
) -> None:
    eligible(azure, CONTRIBUTOR, PERSON, CLUSTER_ID)
    azure.settings(caller=person)
    azure.fault("GET", ".*/roleEligibilityScheduleInstances", answer, count=None)
    (found,) = survey(operations, rights=(WANTED_RIGHT,)).rights
    assert found.missing == (POOL_WRITE, IN_THE_CLUSTER)


def test_an_administrator_of_grafana_and_an_approver_who_have_yet_to_activate_that_are_unknown(
    azure: Azure, operations: Operations, person: str
) -> None:
    seen = seen_by(azure, operations, person)
    assert (seen.grafana.caller_may_admin, seen.may_approve) == (False, False)
    roles = (GRAFANA_ADMIN, CONTRIBUTOR)
    scope = f"/subscriptions/{SUBSCRIPTION}"
    azure.settings(eligible=[{"principal": person, "role": role, "scope": scope} for role in roles])
    seen = survey(operations)
    assert (seen.grafana.caller_may_admin, seen.may_approve) == (None, None)
