"""What helps, by what a provider said."""

import pytest

from infra.cures import cure_for

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
    "a lock": ("Code='ScopeLocked' Message='...'", "az lock list --resource-group GROUP"),
    "a registration": (
        "Code='MissingSubscriptionRegistration' Message='...'",
        "az provider register --namespace NAMESPACE --wait",
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
