"""A policy on a real API server that demands limits, a user's rights, labels or a registry of pods.

Real CEL, evaluated by the API server. What the agent's own extension makes is Azure's and left out,
as its documentation asks for.
"""

import time

import pytest

from simulator.values import JsonObject, as_object, dig
from tests.engine.changes import touched
from tests.engine.simulation import Simulation
from tests.kubernetes.cluster import STATEFUL_SET, Cluster

pytestmark = [pytest.mark.engine, pytest.mark.kubernetes]

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
NAME = "pods-as-we-like-them"
_PODS = "object.spec.template.spec.containers.all(one, {})"
LIMITS = _PODS.format(
    "has(one.resources) && has(one.resources.limits) && 'cpu' in one.resources.limits"
    " && 'memory' in one.resources.limits"
)
ESCALATION = _PODS.format(
    "has(one.securityContext) && has(one.securityContext.allowPrivilegeEscalation)"
    " && !one.securityContext.allowPrivilegeEscalation"
)
REGISTRY = _PODS.format("one.image.startsWith('example.azurecr.io/')")
LABEL = (
    "has(object.spec.template.metadata.labels)"
    " && 'cost-center' in object.spec.template.metadata.labels"
)
RULES = {"limits": LIMITS, "escalation": ESCALATION}


def demand(cluster: Cluster, rules: dict[str, str]) -> None:
    """Let the API server take no workload that breaks one of these rules."""
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        cluster.call("DELETE", f"{ADMISSION}/{kind}/{NAME}")
    resources = ["deployments", "statefulsets", "daemonsets"]
    rule: JsonObject = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": resources,
    }
    policy: JsonObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [
                {"name": "not-azures", "expression": "object.metadata.name != 'gadget'"}
            ],
            "validations": [
                {"expression": expression, "message": f"pods without {name}"}
                for name, expression in rules.items()
            ],
        },
    }
    binding: JsonObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    }
    cluster.create(f"{ADMISSION}/validatingadmissionpolicies", policy)
    cluster.create(f"{ADMISSION}/validatingadmissionpolicybindings", binding)
    labels = {"app": "probe"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    probe: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "probe"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    path = "/apis/apps/v1/namespaces/default/deployments?dryRun=All"
    for _ in range(300):
        status, _body = cluster.call("POST", path, probe)
        if status in (403, 422):
            return
        time.sleep(0.1)
    raise AssertionError("the policy does not count")


@pytest.fixture(scope="module", autouse=True)
def deployed(real: Simulation, cluster: Cluster) -> None:
    """The shipped stack, made while limits and no escalation are demanded of every pod."""
    real.up()
    real.destroy()
    demand(cluster, RULES)
    real.up()


def test_the_shipped_stack_passes_with_its_defaults(real: Simulation, cluster: Cluster) -> None:
    assert cluster.find(STATEFUL_SET) is not None
    assert touched(real.up()) == {}


def test_a_pod_without_limits_is_refused_and_the_setting_is_named(real: Simulation) -> None:
    real.stack_file("dev", {"pyroscope.resources": {"requests": {"cpu": "1", "memory": "1Gi"}}})
    refused = real.up(check=False)
    assert not refused.ok
    assert f"ValidatingAdmissionPolicy '{NAME}'" in refused.output
    assert "pods without limits" in refused.output
    assert "limits and requests as gpuobs:pyroscope.resources" in refused.output
    real.stack_file("dev", {"pyroscope.resources": None})
    real.up()


def test_labels_and_a_registry_that_are_demanded_can_be_written(
    real: Simulation, cluster: Cluster
) -> None:
    demand(cluster, {**RULES, "our registry": REGISTRY, "a cost-center": LABEL})
    labels = {"cost-center": "4711"}
    real.stack_file("dev", {"cluster.podLabels": labels})
    refused = real.up(check=False)
    assert "pods without our registry" in refused.output
    assert "a registry as gpuobs:registry.prefix" in refused.output
    real.stack_file("dev", {"registry": {"prefix": "example.azurecr.io"}})
    real.up()
    pod = as_object(dig(cluster.get(STATEFUL_SET), "spec", "template"))
    assert labels.items() <= as_object(dig(pod, "metadata", "labels")).items()
    assert touched(real.up()) == {}
