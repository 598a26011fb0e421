"""What somebody may have meant by a key that does not exist."""

import difflib
from collections.abc import Iterable


def nearest(key: str, known: Iterable[str]) -> list[str]:
    """The one of ``known`` that is spelled most alike, whatever its case; empty: none is."""
    by_lower_case = {name.lower(): name for name in known}
    found = difflib.get_close_matches(key.lower(), by_lower_case, n=1, cutoff=0.7)
    return [by_lower_case[name] for name in found]
