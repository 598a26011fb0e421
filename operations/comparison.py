"""Whether an object in Kubernetes is as it was asked for, and where it differs. Pure."""

from collections.abc import Iterator

from contract.json import as_object, is_list, is_object
from contract.quantity import quantity


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
    number = quantity(one)
    return number is not None and number == quantity(other)


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
