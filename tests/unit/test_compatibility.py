"""The contract between chart, server and agent, row by row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.compatibility import (
    DEFAULT_CHART,
    DEFAULT_SERVER,
    SERVER_ENCODINGS,
    conflicts,
    installed_conflict,
    is_newer,
    release,
)


def broken(
    server: str = DEFAULT_SERVER, chart: str | None = None, agent: str | None = None
) -> set[str]:
    return {conflict.part for conflict in conflicts(server=server, chart=chart, agent=agent)}


def test_the_defaults_work_together() -> None:
    assert not broken(DEFAULT_SERVER, DEFAULT_CHART, None)


@pytest.mark.handles("incompatible-server")
@pytest.mark.parametrize(
    ("server", "works"),
    [
        ("1.13.0", False),
        ("1.14.1", False),
        ("1.15.0", True),
        ("1.15.1-rc.0", True),
        ("1.18.2", True),
        ("1.19.2", True),
        ("1.20", False),
        ("1.20.0-rc.0", False),
        ("1.21.5", False),
        ("2.0.0", False),
        ("2.1.0", False),
        ("10.0.0", False),
        ("latest", False),
        ("main-1a2b3c", False),
        ("1", False),
        ("1.15.0@sha256:abc", False),
    ],
)
def test_only_servers_that_read_the_agents_encoding_work(server: str, works: bool) -> None:
    assert broken(server) == (set() if works else {"server"})


@pytest.mark.parametrize(
    ("server", "encoding"), [("1.14.1", "1.7 or older"), ("1.20.0", "1.10"), ("2.1.0", "1.10")]
)
def test_the_reason_names_the_encoding_that_the_server_reads(server: str, encoding: str) -> None:
    (conflict,) = conflicts(server=server, chart=None, agent=None)

    assert f"reads {encoding}:" in conflict.why


@pytest.mark.parametrize(
    ("chart", "works"),
    [("1.14.0", False), ("1.15.0", True), ("1.19.2", True), ("2.0.2", False), ("latest", False)],
)
def test_only_charts_whose_values_fit_the_server_work(chart: str, works: bool) -> None:
    assert broken(chart=chart) == (set() if works else {"chart"})


@pytest.mark.parametrize(
    ("agent", "works"),
    [
        ("0.48.2", False),
        ("0.49.0", True),
        ("0.54.0", True),
        ("0.55.1", True),
        ("0.56.0", False),
        ("1.0.0", False),
    ],
)
def test_only_agents_that_send_the_encoding_work(agent: str, works: bool) -> None:
    assert broken(agent=agent) == (set() if works else {"agent"})


PAIRS = [
    ("0.49.0", "1.15.0", True),
    ("0.53.0", "1.15.1", True),
    ("0.53.0", "1.16.0", False),
    ("0.53.9", "1.19.2", False),
    ("0.54.0", "1.15.0", True),
    ("0.54.1", "1.16.0", True),
    ("0.55.1", "1.19.2", True),
]
"""As pushed with each agent's encoder to real servers."""


@pytest.mark.parametrize(("agent", "server", "works"), PAIRS)
def test_a_server_that_refuses_an_agents_pushes_is_a_conflict_pinned_or_installed(
    agent: str, server: str, works: bool
) -> None:
    assert broken(server, agent=agent) == (set() if works else {"server"})
    found = installed_conflict(server=server, agent=agent)
    assert (found is None) is works
    if found is not None:
        assert "invalid metric name" in found.why
        assert agent in found.rule


@pytest.mark.parametrize(("agent", "newer"), [("0.55.9", False), ("0.56.0", True), ("x", False)])
def test_an_installed_agent_that_came_after_the_table_is_not_known_rather_than_wrong(
    agent: str, newer: bool
) -> None:
    assert is_newer(agent) is newer
    if newer:
        assert installed_conflict(server=DEFAULT_SERVER, agent=agent) is None


def test_each_part_that_does_not_fit_is_reported() -> None:
    assert broken("2.1.0", "2.0.2", "0.40.0") == {"server", "chart", "agent"}


@given(st.integers(0, 30), st.integers(0, 60), st.integers(0, 60))
def test_every_release_of_the_server_is_in_one_row_of_the_table(
    major: int, minor: int, patch: int
) -> None:
    number = release(f"{major}.{minor}.{patch}")

    assert number == (major, minor)
    assert sum((major, minor) in servers for servers, _ in SERVER_ENCODINGS) == 1


@given(st.text(max_size=30))
def test_any_tag_works_or_is_reported(tag: str) -> None:
    if not broken(tag):
        number = release(tag)
        assert number is not None
        assert (1, 15) <= number < (1, 20)
