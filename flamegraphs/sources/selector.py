"""Label selectors of Pyroscope, and the several spellings of the labels the agent sets.

The usual spelling is that of Pyroscope 1.15 to 1.19; other versions of server and agent write all
in lower case or keep the dots, so the spelling is looked up, not assumed.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from contract.agent import METRICS_POD, NAMESPACE_LABEL, PROFILES_POD, PROFILES_PROCESS
from flamegraphs.errors import UsageError

_SPELLINGS = {
    "pod": (PROFILES_POD, METRICS_POD, "k8s.podName", "pod"),
    "namespace": (NAMESPACE_LABEL, "k8s.namespace", "namespace"),
    "process": (PROFILES_PROCESS, "proc.comm", "comm"),
}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Filters:
    """What to narrow a query to, each exactly; None does not narrow."""

    pod: str | None = None
    namespace: str | None = None
    process: str | None = None

    def given(self) -> list[tuple[str, str]]:
        """Filter and value of those that are set."""
        pairs = (("pod", self.pod), ("namespace", self.namespace), ("process", self.process))
        return [(name, value) for name, value in pairs if value is not None]


def selector(text: str, filters: Filters, labels: Collection[str]) -> str:
    """Join a selector in the user's own words with filters.

    ``labels`` are the names the server knows; it may be empty, then the usual ones are taken.
    Raises `UsageError` for a selector without its braces' match, or a filter on a label that
    profiles do not have.
    """
    inner = text.strip()
    if inner.startswith("{") != inner.endswith("}"):
        raise UsageError(
            f"The selector {text!r} opens a brace that it does not close, or closes one."
        )
    parts = [inner.removeprefix("{").removesuffix("}").strip().rstrip(",")]
    for name, value in filters.given():
        parts.append(f"{_label(name, labels)}={_quoted(value)}")
    return "{" + ",".join(part for part in parts if part) + "}"


def _label(filter_name: str, labels: Collection[str]) -> str:
    spellings: Sequence[str] = _SPELLINGS[filter_name]
    known = [spelling for spelling in spellings if spelling in labels]
    if labels and not known:
        raise UsageError(
            f"The profiles in this window have no label for --{filter_name} (looked for "
            f"{', '.join(spellings)}); they have {', '.join(sorted(labels))}. Use --selector."
        )
    label = (known or spellings)[0]
    return label if _PLAIN.fullmatch(label) else _quoted(label)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
