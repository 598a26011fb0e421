"""The lines of other programs that the product prints, and that its pages show.

What messages print is made by :mod:`contract.lines`, and read here from the calls of it, with a
sample for each word that is not known before. Pages and settings' rules show lines between
backticks and in blocks of code.
"""

import ast
import importlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.rooms import PRODUCT

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs" / "users").rglob("*.md"))]
PROGRAMS: Final = ("az", "kubectl", "helm", "pulumi")

_ID: Final = (
    "/subscriptions/11111111-1111-4111-8111-111111111111/resourceGroups/rg-dev/providers/"
    "Microsoft.ContainerService/managedClusters/aks-dev"
)
_LINK: Final = _ID.replace(
    "Microsoft.ContainerService/managedClusters", "Microsoft.Network/privateLinkServices"
)
_SUBSCRIPTION: Final = _ID.split("/")[2]
_NAMED: Final = ("--name", "x", "--resource-group", "x", "--subscription", _SUBSCRIPTION)
_POOLS: Final = ("--cluster-name", *_NAMED[1:])
_SAMPLES: Final = {
    "--api-version": "2025-01-01",
    "--assignee-object-id": _SUBSCRIPTION,
    "--assignee-principal-type": "ServicePrincipal",
    "--azure-monitor-workspace-resource-id": _ID,
    "--command": "kubectl get pods",
    "--connection-status": "Approved",
    "--ids": _ID,
    "--node-count": "2",
    "--scope": _ID,
    "--subscription": _SUBSCRIPTION,
    "--url": f"{_ID}?api-version=2025-01-01",
    "describe": "daemonsets.apps",
}
"""What stands for a word that only the run knows, by the word before it."""


class UnreadableLineError(Exception):
    """A call whose words cannot be told from the source."""


@dataclass(frozen=True)
class Printed:
    """One line."""

    where: str
    words: tuple[str, ...]
    text: str
    """As the reader sees it."""

    def __str__(self) -> str:
        return f"{self.where}: {shlex.join(self.words)}"


def all_lines() -> list[Printed]:
    """Every line; those that run a command inside a cluster, and that command, are two."""
    found = [*made(), *shown()]
    return found + [inner for one in found for inner in _inside(one)]


def of(program: str) -> list[Printed]:
    """The lines of one program, each once."""
    once = {one.words: one for one in all_lines() if one.words[0] == program}
    return list(once.values())


def _inside(printed: Printed) -> Iterator[Printed]:
    if printed.words[:4] == ("az", "aks", "command", "invoke") and "--command" in printed.words:
        inner = printed.words[printed.words.index("--command") + 1]
        yield Printed(printed.where, tuple(shlex.split(inner)), inner)


def an_id(words: Sequence[str]) -> str:
    """An id of the type that the command ``words`` takes."""
    if "private-link-service" not in words:
        return _ID
    return f"{_LINK}/privateEndpointConnections/x" if "connection" in words else _LINK


# --- what messages print -------------------------------------------------------------------------


def made() -> Iterator[Printed]:
    """The lines that :mod:`contract.lines` makes."""
    for room in PRODUCT:
        for file in sorted((ROOT / room).rglob("*.py")):
            yield from _made_in(ast.parse(file.read_text(encoding="utf-8")), _name(file))


def _made_in(module: ast.Module, where: str) -> Iterator[Printed]:
    known = (
        _imported(module)
        | {
            target.id: node.value
            for node in ast.walk(module)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        | {
            node.name: returned.value
            for node in ast.walk(module)
            if isinstance(node, ast.FunctionDef)
            for returned in ast.walk(node)
            if isinstance(returned, ast.Return) and isinstance(returned.value, ast.Tuple)
        }
    )
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "line" and not _is_passed_on(node.args, known):
            yield _of_words(f"{where}:{node.lineno}", _words(node.args, known))
        elif node.func.id == "in_cluster":
            inner = node.args[1:]
            if not _is_passed_on(inner, known):
                yield _of_words(f"{where}:{node.lineno}", _words(inner, known))


def _imported(module: ast.Module) -> dict[str, ast.expr]:
    """The texts that the module imports from the rooms of the product, by their name in it."""
    found = {
        alias.asname or alias.name: getattr(
            importlib.import_module(node.module or ""), alias.name, None
        )
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PRODUCT
        for alias in node.names
    }
    return {name: ast.Constant(value) for name, value in found.items() if isinstance(value, str)}


def _of_words(where: str, words: list[str]) -> Printed:
    return Printed(where, tuple(words), shlex.join(words))


def _is_passed_on(arguments: Sequence[ast.expr], known: Mapping[str, ast.expr]) -> bool:
    """Whether the words are a parameter's, so that they are read where it is called."""
    match arguments:
        case [ast.Starred(value=ast.Name(id=name))]:
            return name == "words" and name not in known
        case _:
            return False


def _words(
    arguments: Sequence[ast.expr], known: Mapping[str, ast.expr], before: Sequence[str] = ()
) -> list[str]:
    found = list(before)
    for argument in arguments:
        match _constant(argument, known):
            case ast.Starred(value=value):
                found += _several(value, known, found)
            case ast.Constant(value=str(text)):
                found.append(text)
            case value:
                found.append(_sample(value, found))
    return found[len(before) :]


def _constant(node: ast.expr, known: Mapping[str, ast.expr]) -> ast.expr:
    """What a name in capitals stands for."""
    match node:
        case ast.Name(id=name) if name.isupper():
            return known.get(name, node)
        case _:
            return node


def _several(node: ast.expr, known: Mapping[str, ast.expr], before: Sequence[str]) -> list[str]:
    match node:
        case ast.Tuple(elts=elements):
            return _words(elements, known, before)
        case ast.IfExp(body=body):
            return _several(body, known, before)
        case ast.Name(id=name) if name in known:
            return _several(known[name], known, before)
        case ast.Attribute(attr="options") | ast.Call(func=ast.Name(id="named")):
            return list(_NAMED)
        case ast.Call(func=ast.Name(id="pools_of")):
            return list(_POOLS)
        case ast.Call(func=ast.Name(id="placed")):
            return list(_NAMED[2:])
        case ast.Call(func=ast.Name(id=name)) if name in known:
            return _several(known[name], known, before)
        case _:
            raise UnreadableLineError(ast.unparse(node))


def _sample(node: ast.expr, before: Sequence[str]) -> str:
    previous = before[-1] if before else ""
    if previous == "--ids":
        return an_id(before)
    if isinstance(node, ast.JoinedStr) and previous not in _SAMPLES:
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values
        )
    return _SAMPLES.get(previous, "x")


# --- what is shown -------------------------------------------------------------------------------


def shown() -> Iterator[Printed]:
    """The lines in pages, and between backticks in what the product says."""
    for page in PAGES:
        yield from (_printed(page, text) for text in _of_page(page.read_text(encoding="utf-8")))
    for room in PRODUCT:
        for file in sorted((ROOT / room).rglob("*.py")):
            for text in texts(file):
                yield from (_printed(file, found) for found in _between_backticks(text))


def texts(file: Path) -> Iterator[str]:
    """The strings of a module, without the parts of longer ones; a value in one reads ``x``."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values
            )
        elif (
            isinstance(node, ast.Constant) and id(node) not in parts and isinstance(node.value, str)
        ):
            yield node.value


def _of_page(text: str) -> Iterator[str]:
    inside = False
    for row in text.replace("\\\n", " ").splitlines():
        if row.lstrip().startswith("```"):
            inside = not inside
        elif inside:
            code = row.strip().removeprefix("$ ")
            if _is_ours(code):
                yield code
        else:
            yield from _between_backticks(row)


def _between_backticks(text: str) -> Iterator[str]:
    found = re.findall(r"(?<!`)`([^`]+)`(?!`)", text)
    yield from (" ".join(code.split()) for code in found if _is_ours(code))


def _is_ours(code: str) -> bool:
    return re.match(rf"(?:{'|'.join(PROGRAMS)}) [a-z]", code) is not None


def _printed(file: Path, text: str) -> Printed:
    command = re.split(r" [|>] | +# ", text)[0]
    return Printed(_name(file), tuple(shlex.split(command, comments=True)), command)


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()
