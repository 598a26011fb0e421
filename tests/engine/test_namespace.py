"""The namespace that the agent's extension and Pyroscope share, whatever the extension is made of.

Nothing public says whether the extension's chart carries the namespace, nor how its Helm release is
called; so every rule holds in each of those worlds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulator import home as homes
from simulator.demo import differences, stable
from simulator.session import Options
from simulator.values import JsonObject, as_list, as_object, as_text, dig
from tests.engine.changes import touched
from tests.engine.portal import portal_of
from tests.engine.simulation import Outcome, Simulation
from tests.engine.test_recovery import POLICY, fails
from tests.simulator.azure import CLUSTER, EXTENSION, Kubernetes

pytestmark = pytest.mark.engine

CHARTS: dict[str, JsonObject] = {
    "without the namespace": {},
    "with the namespace": {"namespace": True},
    "with the namespace, under another name": {"namespace": True, "release": "azure-gadget"},
}
"""The extension's chart, as the simulated Azure can have it."""
CARRIED = [name for name, chart in CHARTS.items() if chart.get("namespace")]


@dataclass(frozen=True)
class Life:
    """A stack on an Azure whose extension has one of those charts."""

    failed: Outcome
    """The first ``up``, whose extension fails once."""
    refused: Outcome | None
    """The second one, where Helm's release has another name."""
    up: Outcome
    quiet: Outcome
    """The next one."""
    with_pyroscope: object
    """What the cluster holds then."""
    status: int
    """Of deleting the namespace by hand."""
    said: str
    removed_by_hand: str
    """State of the extension after somebody deleted it; empty: it is gone."""
    after_removal: object
    foreseen: Outcome
    """A preview after that."""
    again: Outcome
    """``up`` after that; where the extension is gone from Azure, ``up --refresh``."""
    after_again: object
    still: Outcome
    """``up`` once more."""
    renamed: Outcome
    """``up`` with another name of the extension, which makes it again."""
    renamed_again: Outcome
    """``up`` once more."""
    after_renamed: object
    state: str
    """Of the extension, in the end."""
    destroy: Outcome
    changed: list[str]
    """What differs in Azure from what was there before the first ``up``."""
    policies: int
    """How many are left in the cluster."""


@pytest.fixture(scope="module", params=CHARTS)
def world(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def life(
    world: str, tmp_path_factory: pytest.TempPathFactory, python: Path | None
) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("namespace")
    (folder / "stacks").mkdir()
    text = (homes.CHECKOUT / "Pulumi.dev.yaml").read_text()
    (folder / "stacks" / "Pulumi.dev.yaml").write_text(text)
    options = Options(
        latency=0.0, installed_plugins=False, python=python, stack_files=folder / "stacks"
    )
    sim = Simulation(homes.Home(folder / "home"), options)
    try:
        yield live(sim, CHARTS[world])
    finally:
        homes.stop(sim.home)


def live(sim: Simulation, chart: JsonObject) -> Life:
    sim.control("POST", "settings", {"extensionChart": chart})
    before = stable(sim.inspect())
    sim.faults(fails("arm", "PUT", ".*/extensions/[^/]+", POLICY))
    failed = sim.up(check=False)
    refused = sim.up(check=False) if chart.get("release") else None
    up = sim.up()
    quiet = sim.up()
    with_pyroscope = inside(sim)
    with portal_of(sim) as azure:
        kubernetes = Kubernetes(azure)
        answer = kubernetes.call("DELETE", "/api/v1/namespaces/gadget")
        azure.call("DELETE", EXTENSION)
        found = azure.call("GET", EXTENSION)
        state = azure.settled(EXTENSION) if found.status_code == 200 else {}
    after_removal = inside(sim)
    refresh = [] if state else ["--refresh"]
    foreseen = sim.preview("dev", *refresh)
    again = sim.up("dev", *refresh, check=False)
    after_again = inside(sim)
    still = sim.up()
    sim.stack_file("dev", {"inspektorGadget.name": "another"})
    renamed = sim.up(check=False)
    renamed_again = sim.up(check=False)
    after_renamed = inside(sim)
    with portal_of(sim) as azure:
        (extension,) = azure.kind("extensions")
        ended = as_text(dig(azure.get(extension), "properties", "provisioningState"))
    destroy = sim.destroy(check=False)
    with portal_of(sim) as azure:
        path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        policies = Kubernetes(azure).call("GET", path).json()["items"]
    return Life(
        failed=failed,
        refused=refused,
        up=up,
        quiet=quiet,
        with_pyroscope=with_pyroscope,
        status=answer.status_code,
        said=answer.text,
        removed_by_hand=str(dig(state, "properties", "provisioningState") or ""),
        after_removal=after_removal,
        foreseen=foreseen,
        again=again,
        after_again=after_again,
        still=still,
        renamed=renamed,
        renamed_again=renamed_again,
        after_renamed=after_renamed,
        state=ended,
        destroy=destroy,
        changed=differences(before, stable(sim.inspect())),
        policies=len(as_list(policies)),
    )


def inside(sim: Simulation) -> object:
    """Namespaces, releases and services of the cluster, and its private link."""
    found = sim.inspect()
    links = [key for key in as_object(found["resources"]) if "/privatelinkservices/" in key.lower()]
    cluster = as_object(dig(found, "kubernetes", CLUSTER.lower()))
    # Not the other objects: those of the agent's extension come and go with it.
    return {what: cluster[what] for what in ("namespaces", "releases", "services")}, links


def test_an_up_goes_on_after_an_extension_that_failed(life: Life) -> None:
    assert not life.failed.ok
    assert life.up.ok
    assert touched(life.quiet) == {}


def test_a_release_of_another_name_is_learnt_from_helms_refusal(life: Life, world: str) -> None:
    if life.refused is None:
        assert "release" not in CHARTS[world]
        return
    assert not life.refused.ok
    assert "azure-gadget" in life.refused.output
    assert touched(life.up)["inspektor-gadget-namespace-protection"] == "update"


def test_nobody_can_delete_the_namespace_while_pyroscope_is_in_it(life: Life) -> None:
    assert life.status == 403
    assert "gadget holds pyroscope" in life.said
    assert "pulumi destroy" in life.said


def test_removing_the_extension_by_hand_leaves_pyroscope_and_its_link(
    life: Life, world: str
) -> None:
    assert life.after_removal == life.with_pyroscope
    assert life.removed_by_hand == ("Failed" if world in CARRIED else "")


def test_an_extension_that_nobody_can_remove_is_said_and_what_up_does_about_it(
    life: Life, world: str
) -> None:
    said = [one for one in life.foreseen.diagnostics if "inspektor-gadget" in one]
    about = [one for one in said if "Failed" in one or "forget" in one]
    assert len(about) == (2 if world in CARRIED else 0), said
    if world in CARRIED:
        assert "Its chart carries the namespace gadget" in about[0]
        release = CHARTS[world].get("release", "inspektor-gadget")
        assert (
            f"lets Azure forget the extension inspektor-gadget, and Helm its release {release}"
            in (about[1])
        )


def test_the_next_up_alone_brings_the_extension_back(life: Life, world: str) -> None:
    """Where the chart has no namespace the extension is gone, which only a refresh sees."""
    assert life.again.ok, life.again.output
    expected = {"inspektor-gadget-extension": "create"}
    if world in CARRIED:
        expected = {
            "inspektor-gadget-extension": "replace",
            "inspektor-gadget-extension-recovery": "create",
        }
    assert touched(life.again) == touched(life.foreseen) == expected
    assert touched(life.still) == {}


def test_an_extension_of_another_name_is_made_at_the_latest_by_the_next_up(
    life: Life, world: str
) -> None:
    assert life.renamed.ok == (world not in CARRIED), life.renamed.output
    assert life.renamed_again.ok, life.renamed_again.output
    assert life.state == "Succeeded"


def test_making_the_extension_again_leaves_pyroscope_and_its_link(life: Life) -> None:
    assert life.after_again == life.with_pyroscope
    assert life.after_renamed == life.with_pyroscope


def test_destroy_leaves_nothing_behind_not_even_the_protection(life: Life) -> None:
    assert life.destroy.ok, life.destroy.output
    assert life.changed == []
    assert life.policies == 0
