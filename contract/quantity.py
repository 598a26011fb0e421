"""Kubernetes' quantities, such as ``500m`` or ``4Gi``, as numbers."""

from decimal import Decimal, InvalidOperation
from typing import Final

PATTERN: Final = r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?"
"""A quantity of a pod's resources, as a stack file may have it."""
_UNITS: Final = {
    **{unit: Decimal(1024) ** n for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
    **{unit: Decimal(1000) ** n for n, unit in enumerate(("k", "M", "G", "T", "P", "E"), 1)},
    "m": Decimal("0.001"),
}


def quantity(value: object) -> Decimal | None:
    """What a quantity comes to: bytes of memory, or cores; None for what is none."""
    text = str(value)
    unit = next((one for one in _UNITS if text.endswith(one)), "")
    try:
        return Decimal(text.removesuffix(unit)) * _UNITS.get(unit, 1)
    except InvalidOperation:
        return None


def amount(value: object) -> float:
    """The same; 0 for what is none."""
    return float(quantity(value) or 0)


def gibibytes(value: str) -> float:
    """What a quantity of memory or of a disk comes to, in GiB."""
    return amount(value) / 2**30
