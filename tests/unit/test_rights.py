"""The rights that a deployment needs: which are looked for, and what is said of one that lacks."""

import pytest

from contract.messages.survey import ClusterFacts, Presence, RightFacts, Survey
from infra.deployed import Deployed
from infra.faults import Fault
from infra.preflight.finding import Finding
from infra.preflight.rights import check_rights
from infra.rights import RIGHTS, On, Right, table
from infra.settings import Settings
from tests.unit.stack_files import CREATED, settings
from tests.unit.test_preflight import GOOD, SUBSCRIPTION, WITH_METRICS, asked

NOTHING = Deployed({})
ALL_DEPLOYED = Deployed(None)
SCOPE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-dev"
CHECKED = [
    number
    for number, right in enumerate(RIGHTS)
    # The one on the private link's group counts where a role is missing there (test_preflight.py).
    if (right.actions or right.data_actions) and right.on is not On.LINK_GROUP
]


def facts(number: int, **changes: object) -> Survey:
    """What a survey says of one row, on a cluster with Azure RBAC."""
    found = RightFacts(key=number, scope=SCOPE).model_copy(update=changes)
    cluster = GOOD.cluster.model_copy(update={"azure_rbac": True})
    return GOOD.model_copy(update={"rights": (found,), "cluster": cluster})


def said(survey: Survey, deployed: Deployed = NOTHING, *, collects: bool = True) -> list[Finding]:
    request = asked(settings(WITH_METRICS))
    return list(check_rights(survey, request, deployed, collects=collects))


def lacking(number: int) -> Survey:
    right = RIGHTS[number]
    return facts(number, missing=(*right.actions, *right.data_actions))


def wanted(stack: Settings) -> list[Right]:
    return [RIGHTS[one.key] for one in asked(stack).rights]


@pytest.mark.parametrize("number", CHECKED)
def test_a_right_that_is_missing_is_a_fault_with_the_line_that_gives_it(number: int) -> None:
    right = RIGHTS[number]
    (found,) = said(lacking(number))
    text = str(found)
    for action in (*right.actions, *right.data_actions):
        assert action in text
    assert f"az role assignment create --role '{right.role}'" in text.replace(
        f"--role {right.role} ", f"--role '{right.role}' "
    )
    assert f"--scope {SCOPE}" in text
    if right.optional:
        assert isinstance(found, str)
    else:
        assert isinstance(found, Fault)
        assert "Privileged Identity Management" in text


@pytest.mark.parametrize("number", CHECKED)
def test_of_what_is_deployed_a_right_that_is_missing_only_warns(number: int) -> None:
    (found,) = said(lacking(number), ALL_DEPLOYED)
    assert isinstance(found, str)


def test_rights_that_cannot_be_read_are_one_warning() -> None:
    unread = tuple(RightFacts(key=number, scope=SCOPE, known=False) for number in CHECKED[:2])
    (found,) = said(GOOD.model_copy(update={"rights": unread}))
    assert isinstance(found, str)
    assert found.count(SCOPE) == 1


def test_a_right_under_a_condition_is_a_warning() -> None:
    (found,) = said(facts(0, conditional=RIGHTS[0].actions))
    assert isinstance(found, str)
    assert "condition" in found


def test_a_right_that_waits_to_be_activated_is_a_warning_that_says_where() -> None:
    (found,) = said(facts(0, eligible=RIGHTS[0].actions))
    assert isinstance(found, str)
    assert "activated" in found
    assert "Privileged Identity Management" in found


def test_a_right_that_is_there_says_nothing() -> None:
    assert said(facts(0)) == []


def test_nothing_is_said_of_rights_on_what_is_not_there() -> None:
    gone = lacking(0).model_copy(update={"cluster": ClusterFacts(presence=Presence.ABSENT)})
    assert said(gone) == []


def test_a_right_inside_the_cluster_is_needed_where_azure_says_who_may_do_what_there() -> None:
    number = next(number for number, right in enumerate(RIGHTS) if right.with_azure_rbac)
    assert said(lacking(number).model_copy(update={"cluster": GOOD.cluster})) == []


def test_rights_for_collection_rules_are_needed_where_the_stack_makes_them() -> None:
    number = next(number for number, right in enumerate(RIGHTS) if right.where_collected)
    assert RIGHTS[number] in wanted(settings(WITH_METRICS))
    assert said(lacking(number)) != []
    assert said(lacking(number), collects=False) == []


def test_the_rights_that_are_looked_for_follow_from_the_settings() -> None:
    purposes = [right.purpose for right in wanted(settings(WITH_METRICS))]
    assert "the GPU node pool" in purposes
    assert "the managed private endpoint" in purposes
    assert not any(purpose.startswith("role assignments") for purpose in purposes)
    without_pool = wanted(settings(gpuPool={"enabled": False}))
    assert "the GPU node pool" not in [right.purpose for right in without_pool]


def test_a_stack_that_makes_everything_needs_to_make_its_group() -> None:
    (first, *_) = wanted(settings(CREATED))
    assert (first.on, first.actions) == (
        On.SUBSCRIPTION,
        ("Microsoft.Resources/subscriptions/resourceGroups/write",),
    )


def test_each_right_is_looked_for_where_it_is_needed() -> None:
    scopes = {RIGHTS[one.key].on: one.scope for one in asked(settings(WITH_METRICS)).rights}
    assert scopes[On.SUBSCRIPTION] == f"/subscriptions/{SUBSCRIPTION}"
    assert scopes[On.CLUSTER].endswith("/managedClusters/aks-dev")
    assert scopes[On.GRAFANA].endswith("/grafana/grafana-dev")


def test_the_readmes_table_has_each_role_on_each_thing_once() -> None:
    rows = list(table())[2:]
    keys = [tuple(row.split(" | ")[:2]) for row in rows]
    assert len(keys) == len(set(keys)) == len({(right.role, right.on) for right in RIGHTS})


GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups"
OURS = {"existing": {"account": "ours1", "resourceGroup": "rg-ours", "container": "gpu"}}


@pytest.mark.parametrize(
    ("blob", "written"),
    [
        (
            {},
            {
                ("userAssignedIdentities", f"{GROUP}/rg-dev"),
                ("storageAccounts", f"{GROUP}/rg-dev"),
                ("roleAssignments", f"{GROUP}/rg-dev"),
            },
        ),
        (
            {"resourceGroup": "rg-profiles"},
            {
                ("userAssignedIdentities", f"{GROUP}/rg-dev"),
                ("storageAccounts", f"{GROUP}/rg-profiles"),
                ("roleAssignments", f"{GROUP}/rg-profiles"),
            },
        ),
        (
            OURS,
            {
                ("userAssignedIdentities", f"{GROUP}/rg-dev"),
                (
                    "roleAssignments",
                    f"{GROUP}/rg-ours/providers/Microsoft.Storage/storageAccounts/ours1",
                ),
            },
        ),
        (None, set[tuple[str, str]]()),
    ],
    ids=["made", "made in another group", "existing", "none"],
)
def test_blob_needs_rights_on_what_is_made_for_it_and_where_it_is_made(
    blob: dict[str, object] | None, written: set[tuple[str, str]]
) -> None:
    kinds = {"userAssignedIdentities", "storageAccounts", "roleAssignments"}
    storage = {} if blob is None else {"storage": {"blob": blob}}
    found = {
        (kind, one.scope)
        for one in asked(settings(pyroscope=storage)).rights
        for action in one.actions
        if (kind := action.split("/")[1]) in kinds and action.endswith("/write")
    }
    assert found == written
