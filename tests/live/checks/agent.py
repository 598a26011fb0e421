"""The agent: Azure's extension, its namespace and its profiles."""

from simulator.values import as_text, dig
from tests.engine.simulation import Outcome
from tests.live.azure import CheckError
from tests.live.check import Phase, Section, Verdict, check, fails, verdict
from tests.live.checks.cluster import changed
from tests.live.world import EXTENSION, NAMESPACE, World

_EXTENSION_NAME = "inspektor-gadget-extension"


@check(
    "extension-uses-existing-namespace",
    Section.AGENT,
    Phase.DEPLOYED,
    assumption="The extension installs into a namespace `gadget` that exists (its chart makes "
    "none; its public instructions create a pull secret there first)",
    otherwise="the install fails with `invalid ownership metadata`; the error's innermost reason "
    "is shown",
    by_hand="first `pulumi up`; `az k8s-extension show`",
)
def existing_namespace(world: World) -> Verdict:
    """The extension has succeeded, and the namespace is still the stack's, not the chart's."""
    properties = world.arm.get(world.id_of(EXTENSION)).get("properties")
    state = as_text(dig(properties, "provisioningState"))
    namespace = world.kubernetes().call("GET", NAMESPACE)
    owner = as_text(dig(namespace.body, "metadata", "annotations", "meta.helm.sh/release-name"))
    whose = f"the release {owner}" if owner else "no release"
    return verdict(
        state == "Succeeded" and namespace.ok and not owner,
        f"the extension is {state}; the namespace belongs to {whose}",
    )


def without_agent(world: World) -> Outcome:
    """The run of ``destroy`` that deletes the extension and all that depends on it."""

    def destroy() -> Outcome:
        urn = world.urn_of(_EXTENSION_NAME)
        outcome = world.stack.destroy("--target", urn, "--target-dependents")
        if not outcome.ok:
            raise CheckError(f"pulumi destroy: {outcome.output.strip()[-300:]}")
        return outcome

    return world.once("without agent", destroy)


@check(
    "extension-leaves-its-namespace",
    Section.AGENT,
    Phase.REMOVED,
    assumption="Deleting the extension leaves the namespace; this stack deletes it last",
    otherwise="gone already counts as deleted",
    by_hand="`pulumi destroy`, then `kubectl get namespace gadget`",
)
def namespace_stays(world: World) -> Verdict:
    """Deletes the extension alone and looks for the namespace."""
    kubernetes = world.kubernetes()
    without_agent(world)
    answer = kubernetes.call("GET", NAMESPACE)
    phase = as_text(dig(answer.body, "status", "phase"))
    if answer.status not in (200, 404):
        raise CheckError(f"the namespace cannot be read: {answer.error}")
    return verdict(
        answer.ok and phase != "Terminating",
        f"after the extension's deletion the namespace is {phase or answer.status}",
    )


@check(
    "extension-is-updated-in-place",
    Section.AGENT,
    Phase.CHANGED,
    assumption="A change of `extensionType` or scope must replace, which the provider does not "
    "know; everything else can be updated in place",
    otherwise="the update fails with Azure's own message",
    by_hand="change `inspektorGadget.settings`",
)
def updated_in_place(world: World) -> Verdict:
    """Changes a setting with ``pulumi up`` and reads it back."""
    operation = changed(world).ops().get(_EXTENSION_NAME)
    extension = world.arm.get(world.id_of(EXTENSION))
    settings = dig(extension, "properties", "configurationSettings")
    level = as_text(dig(settings, "inspektor-gadget.config.daemonLogLevel"))
    state = as_text(dig(extension, "properties", "provisioningState"))
    if operation != "update":
        return fails(f"the setting did not update the extension: {operation}")
    return verdict(
        level == "debug" and state == "Succeeded",
        f"updated in place; the extension is {state}, its log level {level or 'not set'}",
    )


@check(
    "agent-and-server-speak-one-encoding",
    Section.AGENT,
    Phase.GPU,
    assumption="The agent that release train `preview` installs speaks OTLP profiles as Pyroscope "
    "1.15 to 1.19 do, and pushes to `pyroscope.gadget:4040`",
    otherwise="pushes vanish; `python -m gpuobs check` stops at `profile-type`, with what is there",
    by_hand="`python -m gpuobs check --wait 600` after a GPU workload",
)
def one_encoding(world: World) -> Verdict:
    """The signal check finds the agent's profile type in the store."""
    links = world.signal()
    if "profile-type" not in links:
        saw = "; ".join(text for ok, text in links.values() if not ok)
        raise CheckError(f"the signal check does not get as far as the profiles: {saw}")
    ok, saw = links["profile-type"]
    return verdict(ok, saw)


CHECKS = (existing_namespace, namespace_stays, updated_in_place, one_encoding)
