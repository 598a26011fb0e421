"""What the linters do not check: circles among modules, long functions, code that nobody uses."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(
    path.name
    for path in ROOT.iterdir()
    if path.is_dir() and not path.name.startswith(".") and any(path.rglob("*.py"))
)
BESIDE = [folder for folder in FOLDERS if folder in ("scripts", "simulator", "tests", "tools")]
PRODUCT = [folder for folder in FOLDERS if folder not in BESIDE]
MOST_LINES = 60
"""Of a function, from its first line to its last, with signature and docstring."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _modules(folder: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if not parts[-1].endswith("_pb2"):
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


# --- circles ------------------------------------------------------------------------------------


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Those of ``modules`` that a module imports, at the top or inside a function."""
    for node in ast.walk(_tree(path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # A name is a module of its own, or else in the one it is imported from.
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else node.module for name in whole]
        yield from (name for name in names if name in modules)


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_do_not_import_each_other_in_a_circle(folder: str) -> None:
    modules = _modules(folder)
    graph = {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


# --- length -------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_function_fits_on_a_page(folder: str) -> None:
    long: list[str] = []
    for name, path in _modules(folder).items():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES:
                    long.append(f"{name}.{node.name} has {lines} lines")
    assert long == []


# --- use ----------------------------------------------------------------------------------------


def _used(paths: Iterable[Path]) -> set[str]:
    """Every name that is read somewhere, of whatever it is."""
    names: set[str] = set()
    for path in paths:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
    return names


def _defined(path: Path) -> Iterator[str]:
    """The functions, classes and constants of a module, and the methods of its own making.

    Those of a class with a base from elsewhere may be called from there.
    """
    own = {node.name for node in _tree(path).body if isinstance(node, ast.ClassDef)}
    for node in _tree(path).body:
        if isinstance(node, Definition):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        if isinstance(node, ast.ClassDef) and all(
            isinstance(base, ast.Name) and base.id in own for base in node.bases
        ):
            yield from (one.name for one in node.body if isinstance(one, Definition))


@pytest.mark.parametrize(
    ("folders", "users"),
    [(PRODUCT, PRODUCT), (["simulator", "tools"], BESIDE)],
    ids=["product", "beside"],
)
def test_what_is_defined_is_used(folders: list[str], users: list[str]) -> None:
    used = _used([ROOT / "__main__.py", *(p for one in users for p in _modules(one).values())])
    unused = [
        f"{module}: {name}"
        for folder in folders
        for module, path in _modules(folder).items()
        for name in _defined(path)
        if name not in used and not (name.startswith("__") and name.endswith("__"))
    ]
    assert unused == []


# --- size ---------------------------------------------------------------------------------------


def test_a_component_is_read_in_one_sitting() -> None:
    for path in sorted((ROOT / "components").glob("*.py")):
        lines = path.read_text().count("\n")
        assert lines <= 200, f"{path.name} has {lines} lines"
