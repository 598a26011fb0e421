"""A component's arguments as the inputs that the engine records and policies see."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import cast

import pulumi


def component_inputs(args: object, *, leave_out: Collection[str] = ()) -> pulumi.Inputs:
    """The fields of the dataclass ``args``, in camelCase and without those that are None.

    Leave out what changes although nothing was configured (an observed revision), as the component
    would show as changed with it, and what the engine should hold once only (a large document).
    """
    return {
        _camel_case(name): _plain(value)
        for name, value in _fields(args).items()
        if value is not None and name not in leave_out
    }


def _fields(args: object) -> dict[str, object]:
    if not is_dataclass(args) or isinstance(args, type):
        raise TypeError(f"the arguments of a component are a dataclass, not {args!r}")
    return {field.name: getattr(args, field.name) for field in fields(args)}


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return cast("object", value.value)
    if isinstance(value, str):
        return value
    if is_dataclass(value):
        return component_inputs(value)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        return {key: _plain(item) for key, item in mapping.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return value


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
