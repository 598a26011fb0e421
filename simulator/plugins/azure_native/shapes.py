"""What azure-native checks of nested inputs before anything is sent: required members and types.

``shapes.json`` holds the nested inputs of the declared types as the published SDK has them::

    {"resources": {"<pulumi type>": {"<input>": SHAPE}}, "types": {"<module>.<class>": {...}}}

A SHAPE is ``text``, ``integer``, ``number``, ``flag`` or ``any``; ``#<module>.<class>`` for an
object; ``[SHAPE]`` for an array; ``{SHAPE}`` for an object with free keys; with ``!`` at its end it
is required. The words are those of ``validateType`` and ``validateProperty`` in provider.go. The
file is made from the installed SDK: ``python -m simulator.plugins.azure_native.sdk``.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from simulator.plugins.properties import Object, is_list
from simulator.values import as_object, as_text, is_object

FILE: Final = Path(__file__).with_name("shapes.json")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What the specification says of one text or number, beyond its type."""

    pattern: str = ""
    length: tuple[int, int] | None = None
    least: int | None = None
    most: int | None = None

    def faults(self, path: str, value: object) -> Iterator[str]:
        """What is wrong with the value at ``path``."""
        if isinstance(value, str):
            shortest, longest = self.length or (0, len(value))
            if len(value) < shortest:
                yield (
                    f"'{path}' is too short ({len(value)}): at least {shortest} characters required"
                )
            if len(value) > longest:
                yield f"'{path}' is too long ({len(value)}): at most {longest} characters allowed"
            if self.pattern and not re.search(self.pattern, value):
                yield f"'{path}' does not match expression '{self.pattern}'"
        elif isinstance(value, int) and not isinstance(value, bool):
            if self.least is not None and value < self.least:
                yield f"'{path}' is too low ({value:f} < {self.least:f})"
            if self.most is not None and value > self.most:
                yield f"'{path}' is too high ({value:f} > {self.most:f})"


_IPV4: Final = r"^([0-9]{1,3}\.){3}[0-9]{1,3}(\/([0-9]|[1-2][0-9]|3[0-2]))?$"
_POOL: Final = {
    "osDiskSizeGB": Rule(least=0, most=2048),
    "upgradeSettings.drainTimeoutInMinutes": Rule(least=1, most=1440),
    "upgradeSettings.nodeSoakDurationInMinutes": Rule(least=0, most=30),
}
RULES: Final = {
    "azure-native:containerservice:ManagedCluster": {
        "resourceName": Rule(
            pattern=r"^[a-zA-Z0-9]$|^[a-zA-Z0-9][-_a-zA-Z0-9]{0,61}[a-zA-Z0-9]$", length=(1, 63)
        ),
        "agentPoolProfiles[].name": Rule(pattern=r"^[a-z][a-z0-9]{0,11}$"),
        "networkProfile.podCidr": Rule(pattern=_IPV4),
        "networkProfile.serviceCidr": Rule(pattern=_IPV4),
        **{f"agentPoolProfiles[].{name}": rule for name, rule in _POOL.items()},
    },
    "azure-native:containerservice:AgentPool": {
        "agentPoolName": Rule(pattern=r"^[a-z][a-z0-9]{0,11}$", length=(1, 12)),
        **_POOL,
    },
}
"""By pulumi type and path, list indices as ``[]`` (azure-mgmt-containerservice 34.1)."""
EVERYWHERE: Final = {"resourceGroupName": Rule(length=(1, 90))}


def faults(pulumi_type: str, inputs: Object) -> list[str]:
    """What the provider finds wrong with the inputs of a resource, apart from missing top ones."""
    shapes, rules = _known(), {**EVERYWHERE, **RULES.get(pulumi_type, {})}
    fields = as_object(as_object(shapes["resources"]).get(pulumi_type))
    found: list[str] = []
    for name, value in inputs.items():
        shape = as_text(fields.get(name), "any").removesuffix("!")
        found += _faults(shape, value, name, name, rules)
    return found


def _faults(
    shape: str, value: object, path: str, pattern: str, rules: dict[str, Rule]
) -> Iterator[str]:
    if shape.startswith("#") and is_object(value):
        yield from _object_faults(shape[1:], value, path, pattern, rules)
    elif is_list(value) and not shape.startswith("[") and shape not in ("any", "{}"):
        if not shape.startswith("{"):
            yield f"'{path}' should be of type '{_word(shape)}' but got an array"
    elif is_list(value) and shape.startswith("["):
        for index, item in enumerate(value):
            yield from _faults(shape[1:-1], item, f"{path}[{index}]", f"{pattern}[]", rules)
    elif isinstance(value, str) and shape not in ("text", "any"):
        yield f"'{path}' should be of type '{_word(shape)}' but got a string"
    elif _is_number(value) and shape not in ("integer", "number", "any"):
        yield f"'{path}' should be of type '{_word(shape)}' but got a number"
    elif pattern in rules:
        yield from rules[pattern].faults(path, value)


def _object_faults(
    name: str, value: Object, path: str, pattern: str, rules: dict[str, Rule]
) -> Iterator[str]:
    fields = as_object(as_object(_known()["types"]).get(name))
    for key, shape in fields.items():
        text = as_text(shape)
        if key in value:
            bare = text.removesuffix("!")
            yield from _faults(bare, value[key], f"{path}.{key}", f"{pattern}.{key}", rules)
        elif text.endswith("!"):
            yield f"missing required property '{path}.{key}'"


def known_members(pulumi_type: str, name: str, value: object) -> object:
    """``value`` of an input without the nested members that the SDK does not have."""
    fields = as_object(as_object(_known()["resources"]).get(pulumi_type))
    return _trimmed(as_text(fields.get(name), "any").removesuffix("!"), value)


def _trimmed(shape: str, value: object) -> object:
    if shape.startswith("[") and is_list(value):
        return [_trimmed(shape[1:-1], item) for item in value]
    if not shape.startswith("#") or not is_object(value):
        return value
    fields = as_object(as_object(_known()["types"]).get(shape[1:]))
    return {
        key: _trimmed(as_text(fields[key]).removesuffix("!"), item)
        for key, item in value.items()
        if key in fields
    }


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _word(shape: str) -> str:
    """OpenAPI's name of a shape; objects have none."""
    names = {"text": "string", "flag": "boolean", "integer": "integer", "number": "number"}
    return "array" if shape.startswith("[") else names.get(shape, "")


@cache
def _known() -> Object:
    return as_object(json.loads(FILE.read_text()))
