"""The values that every public Pyroscope chart from 1.15.0 to 1.19.2 reads, as a JSON schema.

The stand-in chart of ``simulator/charts`` carries it, so that Helm refuses there what one of those
charts would ignore: a value that has an effect in a test has it with each of them.

    python -m simulator.apiserver.chart_schema      # writes it
"""

import json
from functools import reduce
from pathlib import Path
from typing import Final

from simulator.kubernetes.published_values import chart_tree
from simulator.values import JsonObject, as_object, is_object

VERSIONS: Final = (
    *("1.15.0", "1.15.1", "1.16.0", "1.17.0", "1.18.0", "1.18.1"),
    *("1.19.0", "1.19.1", "1.19.2"),
)
FILE: Final = Path(__file__).parents[1] / "charts" / "pyroscope" / "values.schema.json"
OF_A_COMPONENT: Final = "kind"
"""What a component says beside the values that it has for itself."""


def schema() -> JsonObject:
    """What ``values.schema.json`` holds."""
    read = reduce(_common, (chart_tree(version) for version in VERSIONS))
    found = _closed(read)
    properties = as_object(found["properties"])
    # Helm itself adds it.
    properties["global"] = {}
    of_all = as_object(as_object(properties["pyroscope"])["properties"])
    own = {**of_all, OF_A_COMPONENT: {"enum": ["Deployment", "StatefulSet"]}}
    component: JsonObject = {
        "type": "object",
        "properties": {name: one for name, one in own.items() if name != "components"},
        "required": [OF_A_COMPONENT],
        "additionalProperties": False,
    }
    of_all["components"] = {"type": "object", "additionalProperties": component}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **found}


def text() -> str:
    """The file's text."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


def _common(one: JsonObject, other: JsonObject) -> JsonObject:
    """The paths that both read; what both read whole is read whole."""
    both: JsonObject = {}
    for name in one.keys() & other.keys():
        first, second = one[name], other[name]
        if is_object(first) and is_object(second):
            both[name] = _common(first, second)
        else:
            both[name] = first if is_object(first) else second
    return both


def _closed(tree: JsonObject) -> JsonObject:
    return {
        "type": ["object", "null"],
        "properties": {
            name: _closed(below) if is_object(below) else {} for name, below in tree.items()
        },
        "additionalProperties": False,
    }


if __name__ == "__main__":
    FILE.write_text(text())
