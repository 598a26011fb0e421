"""Data frames, as ``/api/ds/query`` answers them: a schema and the values by column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simulator.values import JsonObject


@dataclass(frozen=True)
class Column:
    """A field of a frame; ``kind`` is the type of its Go values (``int64``, ``time.Time``, ...)."""

    name: str
    kind: str
    values: Sequence[object]
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    config: Mapping[str, object] = field(default_factory=dict[str, object])

    def schema(self) -> JsonObject:
        """The field without its values."""
        types = {"time.Time": "time", "string": "string", "enum": "enum"}
        described: JsonObject = {
            "name": self.name,
            "type": types.get(self.kind, "number"),
            "typeInfo": {"frame": self.kind},
        }
        if self.labels:
            described["labels"] = dict(self.labels)
        if self.config:
            described["config"] = dict(self.config)
        return described


def frame(name: str, meta: JsonObject, columns: Sequence[Column]) -> JsonObject:
    """A frame; times are milliseconds of the Unix epoch."""
    return {
        "schema": {
            **({"name": name} if name else {}),
            "meta": meta,
            "fields": [column.schema() for column in columns],
        },
        "data": {"values": [list(column.values) for column in columns]},
    }
