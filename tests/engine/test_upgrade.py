"""Stacks deployed with an older program, gone on with using this one: nothing of theirs changes.

The older program's stacks are on file (``recorded/README.md``). The engine compares each resource's
name, type, and the text, standard input and triggers of each command with those recorded, so a
renamed resource, a respelled request or another verb shows here as what it would be to a user: a
replacement, an update, something deleted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulator.demo import differences, stable
from simulator.values import JsonObject, as_object, as_text, dig
from tests.engine import recorded_stacks
from tests.engine.changes import touched
from tests.engine.portal import DATA_SOURCE, portal_of
from tests.engine.recorded_stacks import RecordedStacks, contents, contents_before
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

STACKS = recorded_stacks.stacks()
SHIPPED = ["dev", "sandbox"]
SOURCE = "local-pyroscope"
"""Of the stack ``dev``."""
DASHBOARD = "dashboard-dashboard"
WAIT = "pyroscope-private-link-ready"
PROTECTION = "inspektor-gadget-namespace-protection"
CREATES = {PROTECTION, "inspektor-gadget-settings", "cluster-leftovers"}
"""What this program adds to stacks of the recorded one. CHANGELOG says so as well."""
RELEASE = "pyroscope-release"
DEVICE_PLUGIN = "gpu-pool-device-plugin-daemon-set"
UPDATES = {
    DASHBOARD: ("environment", "stdin"),
    WAIT: ("stdin",),
    DEVICE_PLUGIN: ("metadata", "spec"),
    RELEASE: ("values",),
    "gpu-pool-pool": ("tags",),
    "private-endpoint-approval": ("delete",),
}
"""What it updates in place, and which inputs differ: the dashboard, whose texts name pages of docs/
that moved; the wait for the private link, which is told whose connection is the stack's own; the
device plugin, which gets the stack's mark, requests and limits; Pyroscope's release, for its
overrides, a ConfigMap that the server reads anew, and its pod's resources and security context; the
GPU pool, which gets the stack's mark; and the approval, which deletes the endpoint at the end."""
AFTER_A_REFRESH = {"sandbox": {"cluster-cluster": ("agentPoolProfiles",)}}
"""Besides, where a stack made its cluster: the request names the system pool alone, as it is, where
the refresh brought in a list of all pools."""


@dataclass(frozen=True)
class Upgrade:
    """The same recorded stacks, three times, each with the first command that a user may give."""

    recorded_requests: dict[str, JsonObject]
    """What ``dev``'s commands are asked, by resource."""
    up: dict[str, Outcome]
    """By stack: ``up``."""
    requests: dict[str, JsonObject]
    """The same after it."""
    changed_by_up: list[str]
    """The paths at which Azure differs after it."""
    refresh_and_up: dict[str, Outcome]
    changed_by_refresh: list[str]
    preview_without_source: Outcome
    """After somebody deleted a data source of ``dev``."""
    destroy: dict[str, Outcome]
    left: JsonObject
    """What is in Azure after ``destroy``."""
    left_in_state: dict[str, list[JsonObject]]


@pytest.fixture(scope="module")
def upgrade(tmp_path_factory: pytest.TempPathFactory, python: Path | None) -> Iterator[Upgrade]:
    with recorded_stacks.recorded(tmp_path_factory.mktemp("upgrade"), python) as stacks:
        yield _upgrade(stacks)


def _upgrade(stacks: RecordedStacks) -> Upgrade:
    sim = stacks.restore()
    before = stable(sim.inspect())
    recorded_requests = _requests(sim)
    up = {stack: sim.up(stack) for stack in STACKS}
    requests = _requests(sim)
    changed_by_up = _changed(before, stable(sim.inspect()))

    sim = stacks.restore()
    refresh_and_up = {stack: sim.up(stack, "--refresh") for stack in SHIPPED}
    changed_by_refresh = _changed(before, stable(sim.inspect()))

    sim = stacks.restore()
    with portal_of(sim) as person:
        person.delete_in_grafana(DATA_SOURCE + SOURCE)
    preview_without_source = sim.preview("dev")
    destroy = {stack: sim.destroy(stack) for stack in STACKS}
    return Upgrade(
        recorded_requests=recorded_requests,
        up=up,
        requests=requests,
        changed_by_up=changed_by_up,
        refresh_and_up=refresh_and_up,
        changed_by_refresh=changed_by_refresh,
        preview_without_source=preview_without_source,
        destroy=destroy,
        left=contents(sim),
        left_in_state={stack: sim.state(stack) for stack in STACKS},
    )


def _changed(before: object, after: object) -> list[str]:
    return [path for path in differences(before, after) if not _default_of_a_pool(before, path)]


def _default_of_a_pool(before: object, path: str) -> bool:
    """Whether the Azure of the recording had no value there.

    Whoever updates a pool names it, and AKS fills in what is left out. The cluster's own list only
    repeats its pools.
    """
    resource, _, name = path.removeprefix("/resources/").partition("/properties/")
    if name == "agentPoolProfiles":
        return True
    known = as_object(dig(before, "resources", resource, "properties") or {})
    return "/agentPools/" in resource and name not in {*known, "tags"}


def _requests(sim: Simulation) -> dict[str, JsonObject]:
    return {
        as_text(resource["urn"]).rsplit("::", 1)[-1]: as_object(
            json.loads(as_text(dig(resource, "inputs", "stdin")))
        )
        for resource in sim.state("dev")
        if resource["type"] == "command:local:Command"
    }


def _updates(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    """The inputs that differ of each resource that is updated; anything but an update fails."""
    changed = touched(outcome)
    assert [changed.pop(name, None) for name in CREATES] == ["create"] * len(CREATES)
    assert set(changed.values()) <= {"update"}, changed
    return {name: outcome.step(name).diffs for name in changed}


@pytest.mark.parametrize("stack", STACKS)
def test_up_leaves_everything_as_the_older_program_made_it(upgrade: Upgrade, stack: str) -> None:
    assert _updates(upgrade.up[stack]) == UPDATES


def test_up_changes_nothing_in_azure_but_what_is_named_here_and_the_tags_of_the_pool(
    upgrade: Upgrade,
) -> None:
    changed = {path.rsplit("/", 1)[-1] for path in upgrade.changed_by_up}
    assert changed == {"dashboards", "objects", "releases", "tags"}


def test_every_request_is_spelled_as_it_was_but_for_what_is_new_in_it(upgrade: Upgrade) -> None:
    for requests in (upgrade.recorded_requests, upgrade.requests):
        assert requests[DASHBOARD].pop("dashboard")
    assert "ownEndpoint" not in upgrade.recorded_requests[WAIT]
    assert upgrade.requests[WAIT].pop("ownEndpoint")
    made = {name: one for name, one in upgrade.requests.items() if name not in CREATES}
    assert made == upgrade.recorded_requests


@pytest.mark.parametrize("stack", SHIPPED)
def test_up_after_a_refresh_leaves_everything_too(upgrade: Upgrade, stack: str) -> None:
    refreshed = [step.name for step in upgrade.refresh_and_up[stack].steps if step.op == "refresh"]
    assert "private-endpoint-endpoint" in refreshed
    assert _updates(upgrade.refresh_and_up[stack]) == {**UPDATES, **AFTER_A_REFRESH.get(stack, {})}


def test_refresh_and_up_change_as_little_in_azure(upgrade: Upgrade) -> None:
    assert sorted(set(upgrade.changed_by_refresh) - set(upgrade.changed_by_up)) == []


def test_what_somebody_deleted_since_is_seen_and_nothing_else(upgrade: Upgrade) -> None:
    seen = _updates(upgrade.preview_without_source)
    # The approval is run again, and only then is the address known.
    assert seen == {**UPDATES, "data-sources-pyroscope": ("environment", "stdin")}


def test_destroy_runs_what_the_older_program_wrote_and_leaves_nothing(upgrade: Upgrade) -> None:
    assert upgrade.left == contents_before()
    assert upgrade.left_in_state == {stack: [] for stack in STACKS}


@pytest.mark.parametrize("stack", SHIPPED)
def test_nothing_warns(upgrade: Upgrade, stack: str) -> None:
    for run in (upgrade.up, upgrade.refresh_and_up, upgrade.destroy):
        assert run[stack].diagnostics == ()


def test_former_spellings_in_a_stack_file_are_said_once_each_with_the_new_ones(
    upgrade: Upgrade,
) -> None:
    # Its pool is autoscaled, and updated.
    pool, tier, adopt = sorted(upgrade.up["adopting"].diagnostics)
    assert "The update of GPU pool gpu says how many nodes it has" in pool
    assert "gpuobs:grafana.dataSources.adopt is now gpuobs:grafana.adopt" in adopt
    assert "gpuobs:grafana.create.tier is no longer a setting" in tier
