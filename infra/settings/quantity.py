"""Kubernetes' quantities, such as ``500m`` or ``4Gi``, as numbers."""

import re
from typing import Final

PATTERN: Final = r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?"
"""A quantity of a pod's resources."""
_UNITS: Final = {
    "": 1.0,
    "m": 0.001,
    **{unit: 1000.0**power for power, unit in enumerate(("k", "M", "G", "T", "P"), start=1)},
    **{unit: 1024.0**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), start=1)},
}
_PARTS: Final = re.compile(r"([0-9.]+)([a-zA-Z]*)")


def amount(quantity: object) -> float:
    """What a quantity comes to: bytes of memory, or cores; 0 for what is none."""
    found = _PARTS.fullmatch(str(quantity))
    return float(found[1]) * _UNITS.get(found[2], 0.0) if found else 0.0


def gibibytes(quantity: str) -> float:
    """What a quantity of memory or of a disk comes to, in GiB."""
    return amount(quantity) / 2**30
