"""Values of a chart: merging them, and what must be a text. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast


def holds_null(values: object) -> bool:
    """Whether there is a null anywhere: for Helm, no value, not even the chart's default."""
    if isinstance(values, Mapping):
        return any(map(holds_null, cast("Mapping[str, object]", values).values()))
    return values is None


def deep_merge(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """``over`` on top of ``under``: mappings key by key, everything else as a whole."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = deep_merge(
                cast("Mapping[str, object]", below), cast("Mapping[str, object]", value)
            )
        else:
            result[key] = value
    return result


def with_texts(values: Mapping[str, object], paths: Iterable[Sequence[str]]) -> dict[str, object]:
    """``values`` with texts in the mappings at these paths."""
    result = dict(values)
    for path in paths:
        found = at_path(result, path)
        if isinstance(found, Mapping):
            texts: object = {
                str(key): _text(value)
                for key, value in cast("Mapping[object, object]", found).items()
            }
            for key in reversed(path):
                texts = {key: texts}
            result = deep_merge(result, cast("Mapping[str, object]", texts))
    return result


def _text(value: object) -> object:
    """A boolean or number as the text that was meant; a null and a nested value stay."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # numbers pass through the engine's configuration as floats
    return str(value) if isinstance(value, int | float) else value


def at_path(values: Mapping[str, object], path: Sequence[str]) -> object:
    """The value at a path of keys, None where there is none."""
    here: object = values
    for key in path:
        if not isinstance(here, Mapping):
            return None
        here = cast("Mapping[object, object]", here).get(key)
    return here
