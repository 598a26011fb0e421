"""Pulumi, its providers and Helm."""

from importlib import metadata

from simulator.values import as_object, as_text, dig
from tests.engine.simulation import Outcome
from tests.live.azure import CheckError, Kubernetes
from tests.live.check import Phase, Section, Verdict, check, fails, verdict
from tests.live.world import World

_PROVIDERS = ("azure-native", "kubernetes", "command")
_LIMIT = 900
"""Seconds that each of our own waits may take."""
_HELM_LIMIT = 1800
"""Seconds that Helm may take, for a server that keeps profiles in Blob."""


def first_up(world: World) -> Outcome:
    """The run of ``up`` that makes everything.

    Raises:
        CheckError: it failed.
    """
    outcome = world.once("up", world.stack.up)
    if not outcome.ok:
        raise CheckError(f"pulumi up failed: {outcome.output.strip()[-500:]}")
    return outcome


@check(
    "providers-are-the-pinned-ones",
    Section.ENGINE,
    Phase.DEPLOYED,
    assumption="The installed provider plugins are those of `requirements.txt`",
    otherwise="the engine installs them by itself; the project refuses a CLI older than 3.270",
    by_hand="`pulumi plugin ls`",
)
def pinned_providers(world: World) -> Verdict:
    """The stack's state says which versions it was made with."""
    resources = world.once("state", world.stack.resources)
    used: dict[str, str] = {}
    for one in resources:
        kind = as_text(one.get("type")).removeprefix("pulumi:providers:")
        if kind in _PROVIDERS:
            used[kind] = as_text(dig(one, "inputs", "version")) or used.get(kind, "")
    wanted = {name: metadata.version(f"pulumi-{name}") for name in _PROVIDERS}
    other = {name: used.get(name, "none") for name in wanted if used.get(name) != wanted[name]}
    seen = ", ".join(f"{name} {version}" for name, version in sorted(used.items()))
    return verdict(not other, f"{seen}; not as pinned: {other or 'none'}")


@check(
    "chart-can-be-pulled",
    Section.ENGINE,
    Phase.DEPLOYED,
    assumption="`oci://ghcr.io/grafana/helm-charts/pyroscope` can be pulled from where `pulumi` "
    "runs, at every preview",
    otherwise="put the chart into the project (`pyroscope.chart.path`)",
    by_hand="`pulumi preview` behind your proxy",
)
def chart_pulled(world: World) -> Verdict:
    """The release is installed from it."""
    release = world.resource("kubernetes:helm.sh/v3:Release")
    chart = as_text(dig(release, "inputs", "chart"))
    status = as_text(dig(release, "outputs", "status", "status"))
    version = as_text(dig(release, "outputs", "status", "version"))
    if "ghcr.io" not in chart:
        return fails(f"the release is from {chart}")
    return verdict(status == "deployed", f"{chart} {version} is {status}")


@check(
    "steps-keep-their-limits",
    Section.ENGINE,
    Phase.DEPLOYED,
    assumption="Every step takes less than its limit: Helm 15 minutes, with Blob 30, our own waits "
    "15 minutes each, ARM's operations the provider's default",
    otherwise="the message says what was seen last; repeat the run",
    by_hand="wall times of the first `up`",
)
def limits_kept(world: World) -> Verdict:
    """The longest steps of the first ``up``, with Helm's and our own waits against their limit."""
    steps = [one for one in first_up(world).changes if not one.type.startswith("gpuobs:")]
    slowest = sorted(steps, key=lambda one: one.seconds, reverse=True)[:5]
    limits = {"command:": _LIMIT, "kubernetes:helm": _HELM_LIMIT}
    own = [
        (one, limit)
        for one in steps
        for kind, limit in limits.items()
        # It waits for as long as Helm does.
        if one.type.startswith(kind) and one.name != "pyroscope-start"
    ]
    late = [one.name for one, limit in own if one.seconds >= limit]
    times = ", ".join(f"{one.name} {one.seconds:.0f} s" for one in slowest)
    return verdict(bool(own) and not late, f"longest: {times}; at their limit: {late or 'none'}")


_KINDS = (
    "/api/v1/namespaces/gadget/services",
    "/api/v1/namespaces/gadget/configmaps",
    "/api/v1/namespaces/gadget/serviceaccounts",
    "/apis/apps/v1/namespaces/gadget/statefulsets",
    "/apis/policy/v1/namespaces/gadget/poddisruptionbudgets",
)
"""Where the release's objects are."""
_RECORDS = "/api/v1/namespaces/gadget/secrets"
RELEASE = "pyroscope"


def _uninstall(kubernetes: Kubernetes) -> None:
    """Remove the release as ``helm uninstall`` does: its objects, and Helm's records of it.

    Raises:
        CheckError: something of it cannot be listed or deleted.
    """
    for folder in (*_KINDS, _RECORDS):
        listed = kubernetes.call("GET", folder)
        if not listed.ok:
            raise CheckError(f"{folder}: {listed.error}")
        for one in listed.items("items"):
            metadata_ = as_object(one.get("metadata"))
            labels, notes = dig(metadata_, "labels"), dig(metadata_, "annotations")
            record = dig(labels, "owner") == "helm" and dig(labels, "name") == RELEASE
            if record or dig(notes, "meta.helm.sh/release-name") == RELEASE:
                gone = kubernetes.call("DELETE", f"{folder}/{metadata_['name']}")
                if not gone.ok:
                    raise CheckError(f"{folder}/{metadata_['name']}: {gone.error}")


@check(
    "removed-release-stops-destroy",
    Section.ENGINE,
    Phase.REMOVED,
    assumption="The kubernetes provider uninstalls a release that is there; one that somebody "
    "uninstalled by hand stops `destroy` with `release: not found`",
    otherwise="`pulumi destroy --refresh`",
    by_hand="`helm list --namespace gadget`",
)
def removed_release(world: World) -> Verdict:
    """Uninstalls the release by hand, then destroys it without a refresh before."""

    def destroy() -> Outcome:
        _uninstall(world.kubernetes())
        urn = world.urn_of("pyroscope-release")
        outcome = world.stack.destroy("--target", urn, "--target-dependents")
        # For what is destroyed later: the release is gone from the state as well.
        world.stack.refresh()
        return outcome

    outcome = world.once("destroy without release", destroy)
    said = [line.strip() for line in outcome.output.splitlines() if "not found" in line]
    stopped = not outcome.ok and bool(said)
    return verdict(stopped, f"pulumi destroy: {said[0] if said else outcome.output.strip()[-200:]}")


CHECKS = (pinned_providers, chart_pulled, limits_kept, removed_release)
