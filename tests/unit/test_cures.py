"""What helps, by what a provider said."""

import pytest

from infra.cures import BUSY, LONGEST_WAIT_SECONDS, PAUSE_SECONDS, cure_for, waits_again

SAID = {
    "a role": (
        "autorest/azure: Service returned an error. Status=403 Code='AuthorizationFailed' Message="
        "'The client does not have authorization to perform action ...'",
        "The table of rights in README.md",
    ),
    "cores": (
        "Code='ErrCode_InsufficientVCPUQuota' Message='Insufficient vcpu quota requested 24, "
        "remaining 0 for family standardNCADSA100v4Family for region westeurope.'",
        "gpuPool.count",
    ),
    "machines": ("Code='SkuNotAvailable' Message='The requested VM size ...'", "gpuPool.zones"),
    "a policy": ("Code='RequestDisallowedByPolicy' Message='Resource ...'", "gpuobs:azure.tags"),
    "a lock": (
        "Code='ScopeLocked' Message='The scope '/subscriptions/1/resourceGroups/rg/providers/x' "
        "cannot perform write operation because following scope(s) are locked: '/subscriptions/1/"
        "resourceGroups/rg-dev'. Please remove the lock and try again.'",
        "az lock list --resource-group rg-dev --subscription 1 --output table",
    ),
    "a lock of a subscription": (
        "ScopeLocked: ... following scope(s) are locked: '/subscriptions/1,/subscriptions/2'.",
        "az lock list --subscription 1 --output table",
    ),
    "a lock of something that is not said": ("Code='ScopeLocked'", "az lock list --output table"),
    "a busy Grafana": (
        "Status=409 Code='ConflictInProcessing' Message='Operation conflict occurred'",
        "run it again once that has ended",
    ),
    "a registration": (
        "Code='MissingSubscriptionRegistration' Message='The subscription is not registered to use "
        "namespace 'Microsoft.Dashboard'. See https://aka.ms/rps-not-found ...'",
        "az provider register --namespace Microsoft.Dashboard --wait",
    ),
    "a registration of something that is not said": (
        "Code='MissingSubscriptionRegistration'",
        "Register the resource provider that is named above",
    ),
    "an extension that carries the namespace": (
        "Code='ExtensionOperationFailed' Message='... failed to delete release: inspektor-gadget'",
        "Run `pulumi up` again",
    ),
    "a role in the cluster": (
        'namespaces is forbidden: User "x" cannot create resource "namespaces" in API group ""',
        "RBAC Cluster Admin",
    ),
    "a policy in the cluster": (
        'admission webhook "validation.gatekeeper.sh" denied the request: ...',
        "leave the namespace gadget out",
    ),
}


@pytest.mark.parametrize(("said", "cure"), SAID.values(), ids=SAID)
def test_where_the_words_tell_the_cause_it_is_said_what_helps_and_where_there_is_more(
    said: str, cure: str
) -> None:
    assert cure in cure_for(said)
    assert cure_for(said).endswith("docs/users/operating.md, When only Azure or Kubernetes speaks.")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "InternalServerError",
        "ValidatingAdmissionPolicy 'gpuobs-keep-gadget' with binding denied request",
    ],
)
def test_where_they_do_not_nothing_is_said(said: str) -> None:
    assert cure_for(said) == ""


BUSY_GRAFANA = f'Status=409 Code="{BUSY}" Message="Operation conflict occurred for workspace x"'


def test_a_grafana_with_another_operation_is_waited_for_and_nothing_else_is() -> None:
    assert waits_again([BUSY_GRAFANA])
    assert not waits_again(["Status=403 Code='AuthorizationFailed'", BUSY_GRAFANA])


def test_the_wait_for_grafana_ends_before_the_engine_hides_the_error_behind_its_own() -> None:
    attempts = next(n for n in range(1, 1000) if not waits_again([BUSY_GRAFANA] * n))
    assert LONGEST_WAIT_SECONDS / PAUSE_SECONDS < attempts < 100
