"""Chooses which of a file's values is read, where its format can have several."""

from collections.abc import Sequence

from contract.agent import SAMPLE_TYPE, SAMPLE_UNIT
from flamegraphs.errors import NotAProfileError
from flamegraphs.profile import CHOOSE_TYPE

SampleType = tuple[str, str]
"""Name and unit."""


def choose(
    types: Sequence[SampleType], default: int | None, wanted: str | None
) -> tuple[int, list[str]]:
    """Return the place of the type to read, and notes that say which others there are.

    ``wanted`` is a name (``inuse_space``), or name and unit (``alloc/bytes``) where two have one
    name; without it the agent's type is taken where there is one, else the file's ``default``, else
    the last, as ``go tool pprof`` has it.

    Raises `NotAProfileError` where no type, or more than one, is ``wanted``.
    """
    names = [name for name, _ in types]
    listed = ", ".join(names if len(set(names)) == len(names) else map("/".join, types))
    if wanted is not None:
        return _find(types, wanted, listed), []
    if (SAMPLE_TYPE, SAMPLE_UNIT) in types:
        index = types.index((SAMPLE_TYPE, SAMPLE_UNIT))
    else:
        index = len(types) - 1 if default is None else default
    if len(types) == 1:
        return index, []
    name = names[index]
    which = "/".join(types[index]) if names.count(name) > 1 else repr(name)
    return index, [
        f"The file has several values a stack ({listed}); this is {which}. {CHOOSE_TYPE}"
    ]


def named(types: Sequence[SampleType], name: str) -> int | None:
    """The place of the first type of a name; None where there is none, or no name."""
    return next((n for n, (known, _) in enumerate(types) if name and known == name), None)


def _find(types: Sequence[SampleType], wanted: str, listed: str) -> int:
    found = [n for n, (name, unit) in enumerate(types) if wanted in (name, f"{name}/{unit}")]
    if not found:
        raise NotAProfileError(f"It has no values of type {wanted!r}, but {listed}.")
    if len(found) > 1:
        raise NotAProfileError(
            f"It has {len(found)} values of type {wanted!r}; write name and unit: {listed}."
        )
    return found[0]
