"""``python -m infra.schema`` writes what is generated from the settings.

That is ``docs/users/stack.schema.json``, with which editors complete and check a stack file, and
``docs/users/configuration.md``, the reference. With ``--check`` nothing is written and the exit
status says whether both are in step.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from infra.reference import reference
from infra.settings import NAMESPACE, Settings

ROOT = Path(__file__).resolve().parent.parent
SCHEMA_FILE = "docs/users/stack.schema.json"
REFERENCE_FILE = "docs/users/configuration.md"

Json = dict[str, object]


def stack_schema() -> Json:
    """The JSON Schema (draft 7, which editors know best) of a stack file."""
    tree = Settings.model_json_schema(by_alias=True, ref_template="#/definitions/{model}")
    sections = cast("Json", tree["properties"])
    names = "|".join(sections)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A stack of GPU memory profiling on AKS",
        "description": "Pulumi.<stack>.yaml of this project; see docs/users/configuration.md.",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "required": [
                    f"{NAMESPACE}:{name}" for name in cast("Sequence[str]", tree["required"])
                ],
                "properties": {
                    f"{NAMESPACE}:{name}": _tidied(section) for name, section in sections.items()
                },
                # Other packages' configuration is none of ours, a misspelled section is.
                "patternProperties": {f"^{NAMESPACE}:(?!({names})$)": False},
            }
        },
        "definitions": {
            name: _tidied(section) for name, section in cast("Json", tree["$defs"]).items()
        },
    }


def _tidied(schema: object) -> object:
    """Without what says nothing to a reader: titles, empty defaults, ``null`` for "left out"."""
    if isinstance(schema, list):
        return [_tidied(item) for item in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: value
        for key, value in cast("Json", schema).items()
        if not (key == "title" and isinstance(value, str))
        and not (key == "default" and (value is None or isinstance(value, dict | list)))
    }
    choices = kept.get("anyOf")
    if isinstance(choices, list):
        some = [one for one in cast("list[object]", choices) if one != {"type": "null"}]
        if len(some) == 1 and isinstance(some[0], dict):
            kept = {**{k: v for k, v in kept.items() if k != "anyOf"}, **cast("Json", some[0])}
    if "$ref" in kept and len(kept) > 1:
        # Draft 7 ignores whatever stands beside a reference.
        kept = {**{k: v for k, v in kept.items() if k != "$ref"}, "allOf": [{"$ref": kept["$ref"]}]}
    return {key: _tidied(value) for key, value in kept.items()}


def generated() -> dict[str, str]:
    """The text of every generated file, by its path in the project."""
    example = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    return {
        SCHEMA_FILE: json.dumps(stack_schema(), indent=2, ensure_ascii=False) + "\n",
        REFERENCE_FILE: reference(example),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them; the exit status is 1 where they are out of step."""
    parser = argparse.ArgumentParser(prog="python -m infra.schema", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args(arguments).check
    stale: list[str] = []
    for name, text in generated().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        state = "is out of step; run: python -m infra.schema" if check else "written"
        sys.stderr.write(f"{name} {state}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
