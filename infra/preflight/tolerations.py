"""Whether pods run on nodes with a taint (Kubernetes: "Taints and Tolerations")."""

from collections.abc import Iterable, Mapping


def tolerates(tolerations: Iterable[Mapping[str, object]], taint: str) -> bool:
    """Whether pods with these tolerations are put on nodes with ``taint``, ``key=value:effect``."""
    assignment, _, effect = taint.rpartition(":")
    key, _, value = assignment.partition("=")
    return effect == "PreferNoSchedule" or any(
        one.get("effect") in (None, "", effect)
        and (
            one.get("key") in (None, "", key)
            if one.get("operator") == "Exists"
            else (one.get("key"), one.get("value", "")) == (key, value)
        )
        for one in tolerations
    )
