"""Whether the unit tests notice a changed line: ``scripts/mutants`` changes one at a time.

A mutant is the product with one small change: a comparison or a condition turned around, a number
that is one more, an argument or a statement left out. The unit tests that import its module are
run, and a mutant that they let pass *survives*. A sample is taken, the same for the same seed.
Survivors are printed for a person: some change nothing that anybody can observe.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import os
import random
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, cast

import pytest

from simulator.values import as_list

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = ("components", "infra", "operations")
EVERY_PROGRAM: Final = ROOT / "tests" / "unit" / "test_program.py"
SETTINGS: Final = "infra.settings"
IMPORTED_ONCE: Final = (
    "azure.identity",
    "pulumi_azure_native",
    "pulumi_command",
    "pulumi_kubernetes",
    "pydantic",
)
"""What is not the project's, and takes longer to import than most tests."""
_SECONDS_A_MUTANT: Final = 120
"""Of CPU; a mutant that runs on is noticed."""

_TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Change:
    """What is changed: a field of a node of the syntax tree."""

    name: str
    node: ast.expr | ast.stmt
    field: str
    value: object


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    file: Path
    what: str
    tree: ast.Module

    @property
    def module(self) -> str:
        """Its dotted name."""
        name = ".".join(self.file.relative_to(ROOT).with_suffix("").parts)
        return name.removesuffix(".__init__")


def count(file: Path) -> int:
    """How many mutants a module has."""
    return sum(1 for _ in _changes(ast.parse(file.read_text(encoding="utf-8"))))


def mutant(file: Path, number: int) -> Mutant:
    """One of them."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    change = next(itertools.islice(_changes(tree), number, None))
    where = f"{file.relative_to(ROOT).as_posix()}:{change.node.lineno}"
    what = f"{where}: {change.name}: {ast.unparse(change.node).splitlines()[0][:70]}"
    setattr(change.node, change.field, change.value)
    return Mutant(file, what, ast.fix_missing_locations(tree))


def _changes(tree: ast.Module) -> Iterator[Change]:
    """What can be changed, in order; annotations and texts are left as they are."""
    for node in _walked(tree):
        match node:
            case ast.Compare(ops=[operator]) if type(operator) in _TURNED:
                yield Change("turned", node, "ops", [_TURNED[type(operator)]()])
            case ast.BoolOp(op=ast.And()):
                yield Change("or", node, "op", ast.Or())
            case ast.BoolOp(op=ast.Or()):
                yield Change("and", node, "op", ast.And())
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                twice = ast.UnaryOp(op=ast.Not(), operand=operand)
                yield Change("not left out", node, "operand", twice)
            case ast.Constant(value=bool(value)):
                yield Change("other", node, "value", not value)
            case ast.Constant(value=int() | float() as value):
                yield Change("one more", node, "value", value + 1)
            case ast.Call(keywords=keywords):
                for at, keyword in enumerate(keywords):
                    rest = [*keywords[:at], *keywords[at + 1 :]]
                    yield Change(f"without {keyword.arg}", node, "keywords", rest)
            case ast.Expr(value=ast.Call() | ast.YieldFrom()):
                yield Change("left out", node, "value", ast.Constant(value=None))
            case _:
                pass


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        children = as_list(cast("object", value)) or [value]
        for child in children:
            # What is raised: what a message says, and of what kind it is.
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise):
                yield child
                yield from _walked(child)


# --- running the tests ---------------------------------------------------------------------------


def tests_of(mutant: Mutant) -> list[str]:
    """The unit tests that import its module or its package, and those of whole programs."""
    package, _, name = mutant.module.rpartition(".")
    # A room as a whole is imported by nobody's tests; a package in it is, by its name.
    words = [mutant.module, package if "." in package else f"from {package} import {name}"]
    if package == SETTINGS:
        words.append("tests.unit.stack_files")  # reads stack files for other tests
    found = [
        str(file)
        for file in sorted((ROOT / "tests" / "unit").glob("test_*.py"))
        if any(word in file.read_text(encoding="utf-8") for word in words)
    ]
    if package == "operations":
        more = (ROOT / "tests" / "operations").glob(f"test_{mutant.file.stem}*.py")
        return [*found, *map(str, sorted(more))]
    return list(dict.fromkeys([*found, str(EVERY_PROGRAM)]))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Only of the one module."""
        del path, target
        if fullname != self._mutant.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self._mutant.file, loader=self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """As every module."""
        del spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed code."""
        code = compile(self._mutant.tree, str(self._mutant.file), "exec")
        exec(code, module.__dict__)  # noqa: S102 - the product's own, with a change


def is_noticed(mutant: Mutant) -> bool:
    """Whether a test fails; in a process of its own, which ends with it."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS_A_MUTANT, _SECONDS_A_MUTANT))
        sys.meta_path.insert(0, _Finder(mutant))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        os._exit(int(pytest.main([*options, *tests_of(mutant)])))
    _, status = os.waitpid(child, 0)
    return status != 0


def main() -> int:
    """Take a sample, and print who survived and the score."""
    options = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    options.add_argument("--minutes", type=float, default=15.0, help="of CPU (default: 15)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="", help="only of modules whose path holds this")
    given = options.parse_args()
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    every = [
        (file, number)
        for file in files
        if given.only in file.as_posix()
        for number in range(count(file))
    ]
    random.Random(given.seed).shuffle(every)  # noqa: S311 - a sample
    for name in IMPORTED_ONCE:
        importlib.import_module(name)
    noticed = tried = 0
    for file, number in every:
        if resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > given.minutes * 60:
            break
        one, tried = mutant(file, number), tried + 1
        if is_noticed(one):
            noticed += 1
        else:
            print(f"survived: {one.what}", flush=True)  # noqa: T201
    score = f"{noticed / max(tried, 1):.0%}"
    print(f"{noticed} of {tried} mutants noticed ({score}), of {len(every)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
