"""Calls by name: who sends which request, without the names of things.

The table of all calls is recorded (``scripts/faults record``) and checked in: a call that is in no
row of it is one of which nobody has said what is expected when it fails.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from simulator.requests import Entry
from simulator.values import JsonObject, as_object, as_objects, as_text

TABLE: Final = Path(__file__).parent / "calls.json"
WRITES: Final = frozenset({"PUT", "POST", "PATCH", "DELETE"})
CALLERS: Final = (
    ("azure-native", r"pulumi-azure-native"),
    ("kubernetes", r"pulumi-kubernetes"),
)
"""Providers, and what their ``User-Agent`` has."""
_OPERATION: Final = re.compile(r"^gpuobs \(([\w-]+)\)")
_FIXED: Final = frozenset(
    {
        *("api", "apis", "v1", "apps", "uid", "name", "id", "version", "openapi", "proxy"),
        *(
            "permissions",
            "datasources",
            "dashboards",
            "db",
            "health",
            "folders",
            "search",
            "query",
            "resources",
        ),
        *("namespaces", "services", "pods", "daemonsets", "secrets", "nodes", "releases", "rules"),
        *("statefulsets", "configmaps", "persistentvolumeclaims", "serviceaccounts"),
        *("policy", "poddisruptionbudgets"),
        *("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        *("validatingadmissionpolicybindings", "storage.k8s.io", "storageclasses", "policies"),
    }
)
"""Parts of the paths of Grafana and of a cluster that are no names."""


@dataclass(frozen=True, order=True)
class Call:
    """One kind of request."""

    caller: str
    """``azure-native``, ``kubernetes``, or the verb of the operations (``token`` for theirs)."""
    method: str
    service: str
    path: str
    """With ``{}`` in place of every name."""

    def __str__(self) -> str:
        shown = re.sub(r"^/subscriptions/\{\}(/resourceGroups/\{\})?/providers/", "", self.path)
        return f"{self.caller} {self.method} {self.service} {shown}"

    @property
    def writes(self) -> bool:
        """Whether the service may do something."""
        return self.method in WRITES and not self.path.endswith("Credential")

    def rule(self) -> JsonObject:
        """The part of a fault rule that says which calls it is about."""
        path = re.escape(self.path).replace(r"\{\}", "[^/]+")
        rule: JsonObject = {"service": self.service, "method": self.method, "path": path}
        if self.service != "identity":
            agents = dict(CALLERS)
            rule["caller"] = agents.get(self.caller, rf"gpuobs \({self.caller}\)")
        return rule

    def to_json(self) -> JsonObject:
        """As the table keeps it."""
        return {name: getattr(self, name) for name in ("caller", "method", "service", "path")}


def call_of(entry: Entry) -> Call:
    """What kind of request it was."""
    return Call(_caller(entry), entry.method, entry.service, _template(entry.service, entry.path))


def _caller(entry: Entry) -> str:
    if entry.service == "identity":
        return "token"
    for name, pattern in CALLERS:
        if re.search(pattern, entry.caller):
            return name
    operation = _OPERATION.match(entry.caller)
    return operation[1] if operation else entry.caller.partition("/")[0]


def _template(service: str, path: str) -> str:
    parts = [unquote(part) for part in path.strip("/").split("/") if part]
    if service == "arm":
        return "/" + "/".join(_of_arm(parts))
    if service == "identity":
        return path
    known = [part if part.lower() in _FIXED else "{}" for part in parts[2:]]
    return "/" + "/".join([parts[0], "{}", *known])


def _of_arm(parts: list[str]) -> list[str]:
    """Names alternate with types, and begin anew after each ``providers``."""
    shown: list[str] = []
    is_name = False
    after_providers = False
    for part in parts:
        if after_providers:
            # azure-native spells one of them in lower case.
            shown.append(".".join(word[:1].upper() + word[1:] for word in part.split(".")))
            after_providers, is_name = False, False
            continue
        if part.lower() == "providers":
            shown.append("providers")
            after_providers = True
            continue
        shown.append("{}" if is_name else _spelt(part))
        is_name = not is_name
    return shown


def _spelt(part: str) -> str:
    return "resourceGroups" if part.lower() == "resourcegroups" else part


# --- the table --------------------------------------------------------------------------------


Table = dict[Call, dict[str, int]]
"""How often each call is sent in each phase."""


def counted(entries: Iterable[Entry]) -> Table:
    """The calls of a log by phase; requests of tests are left out."""
    found: Table = {}
    for entry in entries:
        call = call_of(entry)
        if entry.phase and not call.caller.startswith("python-"):
            phases = found.setdefault(call, {})
            phases[entry.phase] = phases.get(entry.phase, 0) + 1
    return found


def read(file: Path = TABLE) -> Table:
    """The checked-in table."""
    rows = as_objects(json.loads(file.read_text(encoding="utf-8")))
    return {
        Call(*(as_text(row[name]) for name in ("caller", "method", "service", "path"))): {
            phase: int(str(count)) for phase, count in as_object(row["phases"]).items()
        }
        for row in rows
    }


def write(table: Table, file: Path = TABLE) -> None:
    """Write the table, sorted."""
    rows = [
        {**call.to_json(), "phases": dict(sorted(phases.items()))}
        for call, phases in sorted(table.items())
    ]
    file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def of_phase(table: Table, phase: str) -> list[Call]:
    """The calls that are sent in a phase, sorted."""
    return sorted(call for call, phases in table.items() if phase in phases)
