"""An editable installation gives the command its short name."""

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from setuptools import find_packages

from gpuobs import VERSION

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_short_name_is_the_one_command() -> None:
    module, _, function = PROJECT["project"]["scripts"]["gpuobs"].partition(":")
    assert getattr(import_module(module), function) is import_module("gpuobs.cli").main


def test_every_room_of_the_product_is_installed_and_nothing_else() -> None:
    include = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    rooms = {name.partition(".")[0] for name in find_packages(str(ROOT), include=include)}
    others = {"scripts", "simulator", "tests", "tools"}
    assert rooms == {folder.parent.name for folder in ROOT.glob("*/__init__.py")} - others


def test_the_version_is_stated_once_and_read_from_there() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    module, _, name = PROJECT["tool"]["setuptools"]["dynamic"]["version"]["attr"].partition(".")
    assert getattr(import_module(module), name) == VERSION
