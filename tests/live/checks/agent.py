"""The agent: Azure's extension, its namespace and its profiles."""

from simulator.values import as_text, dig
from tests.engine.simulation import Outcome
from tests.live.azure import CheckError
from tests.live.check import Phase, Section, Verdict, check, fails, verdict
from tests.live.checks.cluster import changed
from tests.live.world import EXTENSION, NAMESPACE, World

DAEMON_SET = "/apis/apps/v1/namespaces/gadget/daemonsets/gadget"
_EXTENSION_NAME = "inspektor-gadget-extension"


@check(
    "extension-release-is-named-like-it",
    Section.AGENT,
    Phase.DEPLOYED,
    assumption="The extension installs into a namespace `gadget` that exists and is marked for its "
    "Helm release, whether its chart carries the namespace or not; the release is named like the "
    "extension (as another extension's: AML-Kubernetes 162)",
    otherwise="the install fails with `invalid ownership metadata` and the release's name; the "
    "next `pulumi up` marks the namespace for that name and goes on",
    by_hand="`kubectl get daemonset --namespace gadget gadget --output yaml`: the annotation "
    "`meta.helm.sh/release-name`",
)
def release_name(world: World) -> Verdict:
    """The extension has succeeded, and the agent belongs to the release that was foreseen."""
    extension = world.arm.get(world.id_of(EXTENSION))
    state = as_text(dig(extension, "properties", "provisioningState"))
    agent = world.kubernetes().call("GET", DAEMON_SET)
    owner = as_text(dig(agent.body, "metadata", "annotations", "meta.helm.sh/release-name"))
    return verdict(
        state == "Succeeded" and owner == extension.get("name"),
        f"the extension is {state}; the agent belongs to the release {owner or 'of nobody'}",
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
    otherwise="gone already counts as deleted; while Pyroscope is in it, a "
    "ValidatingAdmissionPolicy keeps it, and `pulumi up` makes the extension again",
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


CHECKS = (release_name, namespace_stays, updated_in_place, one_encoding)
