"""What Kubernetes permits of a change of a PersistentVolumeClaim.

From its validation (``pkg/apis/core/validation``: a claim's spec is immutable but for the requested
size, which may not fall below the capacity) and its admission plugin
PersistentVolumeClaimResize; AKS' own storage classes all permit expansion.
"""

import re
from typing import Final

from simulator.values import JsonObject, as_object, as_text, dig

EXPANDABLE: Final = (
    "",
    "default",
    "managed",
    "managed-csi",
    "managed-csi-premium",
    "managed-premium",
    "azurefile-csi",
)
"""Storage classes of AKS; the empty name is the cluster's default."""
_UNITS: Final = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def refused(old: JsonObject, new: JsonObject) -> tuple[int, str, str] | None:
    """Code, reason and message of the refusal of a change from ``old`` to ``new``; None: none."""
    name = as_text(dig(new, "metadata", "name"))
    before, after = as_object(old.get("spec")), as_object(new.get("spec"))
    others = {key for key in {*before, *after} if key != "resources"}
    if any(before.get(key) != after.get(key) for key in others):
        return (
            422,
            "Invalid",
            f'PersistentVolumeClaim "{name}" is invalid: spec: Forbidden: spec is immutable after '
            "creation except resources.requests and volumeAttributesClassName for bound claims",
        )
    had, wants = _size(before), _size(after)
    if wants < had:
        return (
            422,
            "Invalid",
            f'PersistentVolumeClaim "{name}" is invalid: spec.resources.requests.storage: '
            "Forbidden: field can not be less than status.capacity",
        )
    if wants > had and as_text(before.get("storageClassName")) not in EXPANDABLE:
        return (
            403,
            "Forbidden",
            f'persistentvolumeclaims "{name}" is forbidden: only dynamically provisioned pvc can '
            "be resized and the storageclass that provisions the pvc must support resize",
        )
    return None


def _size(spec: JsonObject) -> float:
    text = as_text(dig(spec, "resources", "requests", "storage"))
    match = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text)
    return float(match[1]) * (_UNITS | _BINARY).get(match[2], 1) if match else 0.0
