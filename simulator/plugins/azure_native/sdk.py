"""``shapes.json`` from the installed SDK: ``python -m simulator.plugins.azure_native.sdk``."""

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from types import ModuleType

from simulator.plugins.azure_native.shapes import FILE
from simulator.plugins.azure_native.types import TYPES
from simulator.plugins.properties import Object


def generated(pulumi_types: Iterator[str]) -> str:
    """The text of ``shapes.json`` for these types, from the installed SDK."""
    resources: Object = {}
    types: Object = {}
    for token in sorted(pulumi_types):
        _, module, name = token.split(":")
        source = importlib.import_module(f"pulumi_azure_native.{module}")
        resources[token] = _fields(arguments_of(source, name), module)
    pending = _named(resources)
    while pending:
        name = pending.pop()
        if name in types:
            continue
        module, _, class_name = name.partition(".")
        inputs = importlib.import_module(f"pulumi_azure_native.{module}._inputs")
        types[name] = _fields(getattr(inputs, f"{class_name}Args"), module)
        pending |= _named({name: types[name]})
    return json.dumps({"resources": resources, "types": types}, indent=1, sort_keys=True) + "\n"


def arguments_of(module: ModuleType, name: str) -> type:
    """The class of a resource's arguments: ``InitArgs`` where another type has the plain name."""
    return getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args")


def _named(shapes: Object) -> set[str]:
    return set(re.findall(r"#([\w.]+)", json.dumps(shapes)))


def _fields(arguments: type, module: str) -> Object:
    fields: Object = {}
    for python_name, member in inspect.getmembers(arguments):
        if not isinstance(member, property) or member.fget is None:
            continue
        source = inspect.getsource(member.fget)
        wire = re.search(r'getter\(name="(\w+)"\)', source)
        annotation = member.fget.__annotations__["return"]
        text = annotation if isinstance(annotation, str) else _annotation(source)
        fields[wire[1] if wire else python_name] = _shape(text, module)
    return fields


def _annotation(source: str) -> str:
    function = ast.parse(inspect.cleandoc(source)).body[0]
    returns = getattr(function, "returns", None)
    return ast.unparse(returns) if isinstance(returns, ast.AST) else "Any"


def _shape(annotation: str, module: str) -> str:
    """The shape of ``pulumi.Input[...]``; required where it is not optional."""
    text = annotation.replace(" ", "").replace("_builtins.", "")
    if text.startswith("pulumi.Input["):
        text = text.removeprefix("pulumi.Input[")[:-1]
    optional = text.startswith("Optional[")
    bare = text.removeprefix("Optional[")[:-1] if optional else text
    return _bare(bare, module) + ("" if optional else "!")


def _bare(text: str, module: str) -> str:
    while text.startswith("pulumi.Input["):
        text = text.removeprefix("pulumi.Input[")[:-1]
    for prefix, left, right in (("Sequence[", "[", "]"), ("Mapping[str,", "{", "}")):
        if text.startswith(prefix):
            return left + _bare(text.removeprefix(prefix)[:-1], module) + right
    named = re.fullmatch(r"'(\w+)Args'", text)
    if named is not None:
        return f"#{module}.{named[1]}"
    if text.startswith("Union[str,") or re.fullmatch(r"'\w+'", text):
        return "text"
    plain = {"str": "text", "int": "integer", "float": "number", "bool": "flag"}
    return plain.get(text, "any")


def main() -> None:
    """Write ``shapes.json`` anew."""
    FILE.write_text(generated(iter(TYPES)))


if __name__ == "__main__":
    main()
