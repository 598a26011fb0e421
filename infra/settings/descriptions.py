"""What each field of a section means: the docstring under it, read where somebody asks.

pydantic can read them itself (``use_attribute_docstrings``), but then reads the source of every
section at each start of the program, which needs them for the message of a fault only.
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent


@cache
def descriptions(section: type) -> Mapping[str, str]:
    """The docstrings by the fields' Python names, inherited ones included."""
    found: dict[str, str] = {}
    for base in reversed(section.__mro__):
        if base.__module__.startswith(__package__ or ""):
            found |= _own(base)
    return found


def _own(section: type) -> dict[str, str]:
    definition = ast.parse(dedent(inspect.getsource(section))).body[0]
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    found: dict[str, str] = {}
    for field, text in pairwise(body):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(docstring))),
            ):
                found[name] = inspect.cleandoc(docstring)
            case _:
                pass
    return found
