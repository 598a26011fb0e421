"""docs/users/environment.md names every environment variable that the project reads."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "users" / "environment.md"
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
KNOWN = re.compile(r"(GPUOBS|SIM|ARM)_[A-Z0-9_]+")
"""Names that are a variable's wherever they are written."""
NAME = re.compile(r"[A-Z][A-Z0-9_]{2,}")
HELD_BY = ("environ", "environment")
READ_IN_SHELL = re.compile(r"\$\{([A-Z][A-Z0-9_]*)(?::?[-+?=])")


def read_in_python(path: Path) -> Iterator[str]:
    """The variables that a module reads, or gives a name (``X_VARIABLE = "X"``)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if KNOWN.fullmatch(node.value):
                yield node.value
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Name) and one.id.endswith("_VARIABLE") for one in targets):
                yield from _literal(node.value)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield from _named(node.value, node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in ("get", "getenv"):
                yield from _named(node.func.value, node.args[0])
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield from _named(node.comparators[0], node.left)


def _named(holder: ast.expr, key: ast.expr) -> Iterator[str]:
    name = holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
    if name in (*HELD_BY, "os"):
        yield from _literal(key)


def _literal(node: ast.expr | None) -> Iterator[str]:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, str) and NAME.fullmatch(value):
        yield value


def read_by_the_code() -> dict[str, str]:
    """Every variable, with one file that reads it."""
    found: dict[str, str] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if path.name.startswith("test_"):
                continue  # what a test makes up is no variable of the project
            for name in read_in_python(path):
                found.setdefault(name, path.relative_to(ROOT).as_posix())
    scripts = [*(ROOT / "scripts").iterdir(), ROOT / "operations" / "run", ROOT / ".ci" / "run"]
    for path in scripts:
        if path.is_file() and path.suffix != ".py":
            for name in READ_IN_SHELL.findall(path.read_text(encoding="utf-8")):
                found.setdefault(name, path.relative_to(ROOT).as_posix())
    return found


def documented() -> set[str]:
    """The names in the first column of the page's tables."""
    rows = re.findall(r"^\| (`[^|]+`) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([A-Z][A-Z0-9_]+)`", row)}


def test_the_page_names_every_variable_that_the_code_reads() -> None:
    missing = {name: file for name, file in read_by_the_code().items() if name not in documented()}
    assert missing == {}


def test_the_page_names_no_variable_that_the_code_does_not_know() -> None:
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    files += [path for path in (ROOT / "scripts").iterdir() if path.is_file()]
    files += [ROOT / "operations" / "run", ROOT / ".ci" / "run"]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert [name for name in sorted(documented()) if not re.search(rf"\b{name}\b", code)] == []


def test_a_variable_is_found_however_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "import os\n"
        'a = os.environ["ONE_A"]\nb = os.environ.get("TWO_B", "")\nc = os.getenv("THREE_C")\n'
        'd = "FOUR_D" in os.environ\ndef f(environment):\n    return environment.get("FIVE_E")\n'
        'NAME = "GPUOBS_SIX"\nOTHER_VARIABLE = "SEVEN"\nother = {}.get("NOT_ONE")\n'
    )
    wanted = {"ONE_A", "TWO_B", "THREE_C", "FOUR_D", "FIVE_E", "GPUOBS_SIX", "SEVEN"}
    assert set(read_in_python(file)) == wanted
