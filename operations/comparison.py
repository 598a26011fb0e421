"""Whether an object in Kubernetes is as it was asked for, and where it differs. Pure."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from contract.json import as_object, is_list, is_object

_UNITS: Final = {
    **{unit: Decimal(1024) ** n for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
    **{unit: Decimal(1000) ** n for n, unit in enumerate(("k", "M", "G", "T", "P", "E"), 1)},
    "m": Decimal("0.001"),
}


def holds(found: object, wanted: object) -> bool:
    """Whether ``found`` surely has all of ``wanted``; where it may not, the API server is asked."""
    if is_object(wanted):
        here = as_object(found)
        return all(holds(here.get(key), value) for key, value in wanted.items())
    if is_list(wanted):
        here_too = found if is_list(found) else []
        return len(here_too) == len(wanted) and all(map(holds, here_too, wanted))
    # What is empty is not kept.
    return found == wanted or (not wanted and not found) or _same_quantity(found, wanted)


def _same_quantity(one: object, other: object) -> bool:
    quantity = _quantity(one)
    return quantity is not None and quantity == _quantity(other)


def _quantity(value: object) -> Decimal | None:
    """A Kubernetes quantity (``500m``, ``1Gi``) as a number."""
    text = str(value)
    unit = next((one for one in _UNITS if text.endswith(one)), "")
    try:
        return Decimal(text.removesuffix(unit)) * _UNITS.get(unit, 1)
    except InvalidOperation:
        return None


def changes(before: object, after: object, at: str = "") -> Iterator[str]:
    """Where the two differ, as ``spec.ports[0].port``."""
    if is_object(before) and is_object(after):
        for key in before.keys() | after.keys():
            yield from changes(before.get(key), after.get(key), f"{at}.{key}" if at else key)
    elif is_list(before) and is_list(after) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changes(one, other, f"{at}[{index}]")
    elif before != after:
        yield at
