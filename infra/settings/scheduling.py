"""Rules on the fields of a pod that a stack file may set: resources, tolerations, affinity.

Only what Kubernetes refuses for its form; whether a node fits is the scheduler's to say.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from contract.quantity import PATTERN
from infra.settings.section import RuleViolation, as_mapping, stringified


def toleration_texts(value: object) -> object:
    """Kubernetes takes only texts as key and value; YAML reads ``value: true`` as a boolean."""
    mapping = as_mapping(value)
    if mapping is None:
        return value
    return {
        key: stringified(item) if key in ("key", "value") else item for key, item in mapping.items()
    }


def broken_scheduling(
    resources: Mapping[str, object],
    tolerations: Sequence[Mapping[str, object]],
    affinity: Mapping[str, object],
) -> Iterable[RuleViolation]:
    """The rules that do not hold; paths are relative to the section."""
    yield from broken_resources(resources)
    yield from _pod_fields("affinity", affinity, ("nodeAffinity", "podAffinity", "podAntiAffinity"))
    for number, toleration in enumerate(tolerations):
        at = f"tolerations[{number}]"
        known = ("key", "operator", "value", "effect", "tolerationSeconds")
        yield from _pod_fields(at, toleration, known)
        yield from _choices(at, toleration)


def broken_resources(resources: Mapping[str, object]) -> Iterable[RuleViolation]:
    """The rules on ``resources`` that do not hold."""
    yield from _pod_fields("resources", resources, ("requests", "limits", "claims"))
    yield from _quantities(resources)


def _pod_fields(
    at: str, value: Mapping[str, object], known: tuple[str, ...]
) -> Iterable[RuleViolation]:
    for key in value:
        if key not in known:
            yield RuleViolation(
                fields=(f"{at}.{key}",),
                rule=f"one of {', '.join(known)}",
                why="Kubernetes refuses the pod, or ignores the key.",
                fix="see the pod's field of that name in Kubernetes' reference",
            )


def _quantities(resources: Mapping[str, object]) -> Iterable[RuleViolation]:
    for kind in ("requests", "limits"):
        for name, quantity in (as_mapping(resources.get(kind)) or {}).items():
            if isinstance(quantity, bool) or not re.fullmatch(PATTERN, str(quantity)):
                yield RuleViolation(
                    fields=(f"resources.{kind}.{name}",),
                    value=quantity,
                    rule="a Kubernetes quantity, such as 500m or 4Gi",
                    why="Kubernetes refuses the pod.",
                    fix="write a number with a unit: m, Ki, Mi, Gi, ...",
                )


_TOLERATION_CHOICES = {
    "operator": ("Exists", "Equal"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
}


def _choices(at: str, toleration: Mapping[str, object]) -> Iterable[RuleViolation]:
    for key, known in _TOLERATION_CHOICES.items():
        if key in toleration and toleration[key] not in known:
            yield RuleViolation(
                fields=(f"{at}.{key}",),
                value=toleration[key],
                rule=f"one of {', '.join(known)}",
                why="Kubernetes refuses the pod.",
                fix="write one of these, with the same capitals",
            )
