"""Our own sentence beside an error of a provider, where its words tell the cause.

Pulumi passes on what a provider says, and nobody can add to it; a hook hears it and says more. It
is asked only while the program runs: in a plain ``destroy`` the engine shows the provider's words
alone (``withRetries`` in ``pkg/resource/deploy/step.go`` of 3.274 drops the hook's absence).

One error passes by itself, and azure-native takes it for one that does not: another operation runs
on the Grafana workspace, perhaps another stack's. There the hook waits and lets the engine try
again; a ``destroy`` waits in an operation of its own (``delete-private-endpoint``).
"""

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from typing import Final

import pulumi

from contract.agent import NAMESPACE
from contract.azure import group_of, subscription_of
from contract.lines import line, placed
from contract.messages.base import TIME_SCALE_VARIABLE

_GUIDE: Final = "docs/users/operating.md, When only Azure or Kubernetes speaks"


def _locks(said: str) -> str:
    """Azure names the scopes that are locked ("following scope(s) are locked: '...'")."""
    found = re.search(r"locked: '([^',]+)", said)
    scope = found[1] if found else ""
    subscription = ("--subscription", subscription_of(scope)) if scope else ()
    where = placed(scope) if group_of(scope) else subscription
    return "A management lock is in the way: " + line(
        *("az", "lock", "list", *where, "--output", "table")
    )


def _registration(said: str) -> str:
    """Azure names the provider ("not registered to use namespace '...'")."""
    found = re.search(r"namespace '([^']+)'", said)
    if found is None:
        return "Register the resource provider that is named above"
    return "Register the resource provider: " + line(
        *("az", "provider", "register", "--namespace", found[1], "--wait")
    )


BUSY: Final = "ConflictInProcessing"
"""Grafana's code: one operation at a time runs on a workspace and its private endpoints."""
_CURES: Final[tuple[tuple[str, str | Callable[[str], str]], ...]] = (
    (
        r"AuthorizationFailed|does not have authorization",
        "A role is missing, or was assigned a moment ago: Azure takes up to 10 minutes. The table "
        "of rights in README.md names the role for each action",
    ),
    (
        r"Insufficient\w*Quota|QuotaExceeded",
        "The region has too few cores of this family left: write a smaller gpuPool.count or "
        "another gpuPool.vmSize, or ask for more in the portal, under Quotas",
    ),
    (
        r"SkuNotAvailable|AllocationFailed|OverconstrainedAllocation",
        "The quota is there, and no machine is: write other gpuPool.zones or another "
        "gpuPool.vmSize, or try again later",
    ),
    (
        r"RequestDisallowedByPolicy",
        "Azure Policy denies the resource as it is; the assignment named above says what it asks "
        "for, often tags (gpuobs:azure.tags) or a region (gpuobs:azure.location)",
    ),
    (r"ScopeLocked", _locks),
    (r"MissingSubscriptionRegistration", _registration),
    (
        r"failed to delete release",
        f"The extension's chart carries the namespace {NAMESPACE}, which stays as long as "
        "Pyroscope is in it: nothing is lost. Run `pulumi up` again: it lets Azure and Helm forget "
        "the extension, and makes it again",
    ),
    (
        BUSY,
        "Another operation is in progress on Grafana, perhaps another stack's: run it again once "
        "that has ended",
    ),
    (
        r"is forbidden: User",
        "Your role in the cluster does not allow it: on one with Entra ID it takes Azure "
        "Kubernetes Service RBAC Cluster Admin",
    ),
    (
        r"admission webhook .* denied|ValidatingAdmissionPolicy '(?!gpuobs-)",
        "A policy of the cluster refuses the object. What it demands can be written: limits and "
        "requests as gpuobs:pyroscope.resources, labels as gpuobs:cluster.podLabels, a registry as "
        f"gpuobs:registry.prefix; else leave the namespace {NAMESPACE} out of it",
    ),
)
"""What a provider's words have, and what helps; the first that fits."""


PAUSE_SECONDS: Final = 10
LONGEST_WAIT_SECONDS: Final = 900
"""As long as the operations wait. The engine itself tries 100 times (``maxErrorHookRetries``)."""


def cure_for(said: str) -> str:
    """A sentence on what helps; empty where the cause is not known."""
    for pattern, cure in _CURES:
        if re.search(pattern, said, re.DOTALL):
            return f"{cure if isinstance(cure, str) else cure(said)}. More: {_GUIDE}."
    return ""


def waits_again(errors: Sequence[str]) -> bool:
    """Whether what failed, the newest failure first, is to be tried again after a pause."""
    return BUSY in errors[0] and len(errors) * PAUSE_SECONDS <= LONGEST_WAIT_SECONDS


def say_what_helps() -> None:
    """From here on: beside each failure of a provider, what helps; and waiting for Grafana."""

    async def heard(args: pulumi.ErrorHookArgs) -> bool:
        if waits_again(args.errors):
            pulumi.log.info(
                f"{args.name}: another operation is in progress on Grafana, perhaps another "
                f"stack's; waiting ... {(len(args.errors) - 1) * PAUSE_SECONDS} s of at most "
                f"{LONGEST_WAIT_SECONDS} s"
            )
            await asyncio.sleep(PAUSE_SECONDS * float(os.environ.get(TIME_SCALE_VARIABLE) or 1))
            return True
        cure = cure_for("\n".join(args.errors))
        if cure:
            pulumi.log.warn(f"{args.name}: {cure}")
        return False  # not tried again: the providers do so themselves

    hook = pulumi.ErrorHook("gpuobs-cure", heard)

    def hooked(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        if args.type_.startswith(("azure-native:", "kubernetes:")):
            args.opts.hooks = pulumi.ResourceHookBinding(on_error=[hook])
        return pulumi.ResourceTransformationResult(args.props, args.opts)

    pulumi.runtime.register_stack_transformation(hooked)
