"""Default names: each within its service's limit, and distinct between stacks."""

import re
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.names import names_for
from tests.unit.stack_files import CREATED, error

LIMITS = {
    "private_link": r"[A-Za-z0-9][A-Za-z0-9_.-]{0,78}[A-Za-z0-9_]",
    "private_endpoint": r"[a-zA-Z][-a-zA-Z0-9]{1,18}[a-zA-Z0-9]",
    "pyroscope_source": r"[a-zA-Z0-9_-]{1,40}",
    "prometheus_source": r"[a-zA-Z0-9_-]{1,40}",
    "dashboard": r"[a-zA-Z0-9_-]{1,40}",
    "folder_uid": r"[a-zA-Z0-9_-]{1,40}",
    "cluster": r"[a-zA-Z0-9][-_a-zA-Z0-9]{0,61}[a-zA-Z0-9]",
    "grafana": r"[a-zA-Z][-a-zA-Z0-9]{0,21}[a-zA-Z0-9]",
    "workspace": r"[a-zA-Z0-9][-a-zA-Z0-9]{2,61}[a-zA-Z0-9]",
    "data_collection_endpoint": r"[a-zA-Z0-9][-a-zA-Z0-9]{1,42}[a-zA-Z0-9]",
    "configuration_endpoint": r"[a-zA-Z0-9][-a-zA-Z0-9]{1,42}[a-zA-Z0-9]",
    "data_collection_rule": r"[a-zA-Z0-9][-a-zA-Z0-9]{1,62}[a-zA-Z0-9]",
    "rule_group": r"[a-zA-Z0-9][-a-zA-Z0-9]{1,78}[a-zA-Z0-9]",
    "action_group": r"[a-zA-Z0-9][-a-zA-Z0-9]{1,78}[a-zA-Z0-9]",
    "storage_account": r"[a-z0-9]{3,24}",
    "identity": r"[a-zA-Z0-9][-_a-zA-Z0-9]{2,127}",
    "dns_prefix": r"[a-zA-Z0-9][-a-zA-Z0-9]{0,52}[a-zA-Z0-9]",
    "request_message": r"[\x20-\x7e]{1,140}",
}
stacks = st.text(min_size=1, max_size=120)


def test_the_names_of_deployed_stacks_stay() -> None:
    """Another name makes the resource anew, with all that depends on it."""
    names = names_for("gpuobs", "dev", "11111111-1111-4111-8111-111111111111")
    assert names.private_link == "pyroscope-dev-83335922"
    assert names.private_endpoint == "p-dev-83335922"
    assert names.grafana == "g-dev-64f81e24"
    assert names.storage_account == "gpuobsdev64f81e24"
    assert names.dashboard == "gpuobs-dev-83335922"
    assert names.request_message == "gpuobs gpuobs dev 83335922"


@pytest.mark.handles("uid-too-long")
@given(stacks, stacks)
def test_every_name_is_within_its_services_limit(project: str, stack: str) -> None:
    names = asdict(names_for(project, stack, "11111111-1111-4111-8111-111111111111"))

    assert set(names) == set(LIMITS), "each name has a limit here"
    for field, pattern in LIMITS.items():
        assert re.fullmatch(pattern, names[field]), f"{field}: {names[field]!r}"


@pytest.mark.handles("fixed-names-collide")
@given(st.tuples(stacks, stacks), st.tuples(stacks, stacks))
def test_two_stacks_share_no_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    first, second = asdict(names_for(*one)), asdict(names_for(*other))

    for field, name in first.items():
        assert (name == second[field]) == (one == other), field


@pytest.mark.handles("uid-too-long")
@pytest.mark.parametrize("end", ["1", "2"])
def test_stacks_that_differ_after_the_hundredth_character_share_no_name(end: str) -> None:
    long = "s" * 100
    mine, plain = asdict(names_for("gpuobs", long + end)), asdict(names_for("gpuobs", long))

    assert not set(mine.values()) & set(plain.values())


@pytest.mark.parametrize(
    "pair",
    [
        (("a-b", "c"), ("a", "b-c")),
        (("gpuobs", "dev"), ("gpuobs", "Dev")),
        (("gpuobs", "dev.1"), ("gpuobs", "dev-1")),
    ],
)
def test_stacks_that_read_alike_share_no_name(
    pair: tuple[tuple[str, str], tuple[str, str]],
) -> None:
    first, second = (asdict(names_for(*names)) for names in pair)

    assert not set(first.values()) & set(second.values())


def test_names_are_the_same_at_every_run() -> None:
    assert names_for("gpuobs", "dev") == names_for("gpuobs", "dev")


def test_a_name_begins_so_that_a_person_recognises_the_stack() -> None:
    names = names_for("gpuobs", "dev")

    assert names.private_link.startswith("pyroscope-dev-")
    assert names.dashboard.startswith("gpuobs-dev-")


def test_the_names_of_one_stack_on_one_grafana_differ() -> None:
    names = names_for("gpuobs", "dev")
    uids = [names.pyroscope_source, names.prometheus_source, names.dashboard, names.folder_uid]

    assert len(set(uids)) == len(uids)


def test_names_that_are_unique_in_azure_differ_between_subscriptions_and_no_other_does() -> None:
    first = asdict(names_for("gpuobs", "dev", "11111111-1111-4111-8111-111111111111"))
    second = asdict(names_for("gpuobs", "dev", "22222222-2222-4222-8222-222222222222"))

    assert {field for field in first if first[field] != second[field]} == {
        "grafana",
        "storage_account",
    }


def test_the_settings_take_every_default_name() -> None:
    names = names_for("gpuobs", "a-stack-with-a-name-that-is-longer-than-any-limit-here")
    problem = error(
        {
            **CREATED,
            "cluster": {"create": {"name": names.cluster}},
            "grafana": {
                "create": {"name": names.grafana},
                "privateEndpoint": {"name": names.private_endpoint},
                "dataSources": {
                    "pyroscope": {"name": names.pyroscope_source, "uid": names.pyroscope_source},
                    "prometheus": {"name": names.prometheus_source, "uid": names.prometheus_source},
                },
                "dashboard": {"uid": names.dashboard},
            },
            "pyroscope": {"privateLink": {"name": names.private_link}},
            "prometheus": {"azureMonitorWorkspace": {"create": {"name": names.workspace}}},
        }
    )

    assert problem is None, str(problem)
