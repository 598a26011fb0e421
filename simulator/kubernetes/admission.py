"""ValidatingAdmissionPolicy, as far as it can keep somebody from deleting a namespace.

By Kubernetes' own source (apiserver: pkg/admission/plugin/policy/validating), and as a real API
server does it (tests/kubernetes): a policy without a binding does nothing; with ``paramRef`` and
``parameterNotFoundAction: Allow`` it does nothing while its parameter is absent; a denial has the
status of the validation's reason. CEL is not modelled: an expression other than ``true`` and
``false`` is refused when the policy is stored, as is a rule about anything but deleting namespaces
by name.
"""

from typing import Final

from simulator.kubernetes import state
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from simulator.world import ClusterState

NO_PRIVILEGE: Final = "K8sAzureV2NoPrivilege"
"""Azure Policy's constraint on privileged containers (its add-on's templates); it is about pods, so
what makes pods is accepted, and waits for them in vain."""
POLICY: Final = "ValidatingAdmissionPolicy"
BINDING: Final = "ValidatingAdmissionPolicyBinding"
STATUS: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
"""By a validation's reason; the default, ``Invalid``, is 422."""


def problem(manifest: JsonObject) -> str:
    """What of a policy or binding is not modelled; empty if all of it is."""
    spec = as_object(manifest.get("spec"))
    if manifest.get("kind") == BINDING:
        if texts(spec.get("validationActions")) != ["Deny"]:
            return "validationActions other than [Deny]"
        unknown = set(spec) - {"policyName", "validationActions", "paramRef"}
        return f"a binding's {', '.join(sorted(unknown))}" if unknown else ""
    for rule in as_objects(dig(spec, "matchConstraints", "resourceRules")):
        if rule.get("resources") != ["namespaces"] or rule.get("operations") != ["DELETE"]:
            return "a rule about anything but DELETE of namespaces"
    for validation in as_objects(spec.get("validations")):
        if validation.get("expression") not in ("true", "false"):
            return f"the CEL expression {validation.get('expression')!r}"
    unknown = set(spec) - {"failurePolicy", "paramKind", "matchConstraints", "validations"}
    return f"a policy's {', '.join(sorted(unknown))}" if unknown else ""


def denial(objects: ClusterState, namespace: str) -> tuple[int, str] | None:
    """Status and message of the refusal to delete ``namespace``; None where it is allowed."""
    policies = {state.name_of(item): item for item in objects.of_kind(POLICY)}
    for binding in objects.of_kind(BINDING):
        policy = policies.get(as_text(dig(binding, "spec", "policyName")))
        if policy is None or not _matches(policy, namespace):
            continue
        if not _is_met(objects, policy, as_object(dig(binding, "spec", "paramRef"))):
            continue
        for validation in as_objects(dig(policy, "spec", "validations")):
            if validation.get("expression") == "false":
                said = as_text(validation.get("message")) or "failed expression: false"
                return STATUS.get(as_text(validation.get("reason")), 422), (
                    f'namespaces "{namespace}" is forbidden: ValidatingAdmissionPolicy '
                    f"'{state.name_of(policy)}' with binding '{state.name_of(binding)}' denied "
                    f"request: {said}"
                )
    return None


def denies_privileged_pods(objects: ClusterState, namespace: str) -> bool:
    """Whether Azure Policy keeps privileged pods out of ``namespace``."""
    return any(
        dig(item, "spec", "enforcementAction") == "deny"
        and namespace not in texts(dig(item, "spec", "match", "excludedNamespaces"))
        for item in objects.of_kind(NO_PRIVILEGE)
    )


def _matches(policy: JsonObject, namespace: str) -> bool:
    for rule in as_objects(dig(policy, "spec", "matchConstraints", "resourceRules")):
        names = texts(rule.get("resourceNames"))
        if not names or namespace in names:
            return True
    return False


def _is_met(objects: ClusterState, policy: JsonObject, reference: JsonObject) -> bool:
    """Whether the parameter is there, or the policy has none or denies without it."""
    kind = as_text(dig(policy, "spec", "paramKind", "kind"))
    if not kind:
        return True
    place, name = as_text(reference.get("namespace")), as_text(reference.get("name"))
    if state.find(objects, kind, place, name) is not None:
        return True
    return reference.get("parameterNotFoundAction") != "Allow"
