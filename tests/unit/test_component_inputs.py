"""How a component's arguments reach the engine, and that other languages could use it."""

import importlib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pulumi
import pytest
from pulumi.provider.experimental.analyzer import Analyzer

from components.inputs import component_inputs
from tests.unit.recording import record

COMPONENTS = Path(__file__).parents[2] / "components"


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Inner:
    some_size: int
    nothing: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    vm_size: str = "small"
    colour: Colour = Colour.RED
    inner: Inner = Inner(some_size=2)
    names: tuple[str, ...] = ("a", "b")
    labels: dict[str, str] | None = None
    token: str = "t"  # noqa: S105 - not a password
    absent: str | None = None


def test_fields_become_camel_case_inputs_all_the_way_down() -> None:
    assert component_inputs(Outer(labels={"my_label": "x"})) == {
        "vmSize": "small",
        "colour": "red",
        "inner": {"someSize": 2},
        "names": ["a", "b"],
        # A key of a mapping is data, not a field.
        "labels": {"my_label": "x"},
        "token": "t",
    }


def test_what_is_left_out_is_not_recorded() -> None:
    assert "token" not in component_inputs(Outer(), leave_out={"token"})


def test_an_output_is_recorded_as_what_it_comes_to() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Args:
        name: pulumi.Input[str]

    def program() -> None:
        args = Args(name=pulumi.Output.from_input("x").apply(str.upper))
        pulumi.ComponentResource("a:index:B", "b", component_inputs(args))

    assert record(program).named("b").inputs == {"name": "X"}


def test_only_a_dataclass_is_taken_for_arguments() -> None:
    with pytest.raises(TypeError, match="dataclass"):
        component_inputs({"a": 1})
    with pytest.raises(TypeError, match="dataclass"):
        component_inputs(Outer)


def component_classes() -> list[type[pulumi.ComponentResource]]:
    found: list[type[pulumi.ComponentResource]] = []
    for path in sorted(COMPONENTS.glob("*.py")):
        module = importlib.import_module(f"components.{path.stem}")
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, pulumi.ComponentResource)
            and value.__module__ == module.__name__
        ]
    return found


def test_every_component_can_be_described_to_other_languages() -> None:
    classes = component_classes()
    assert len(classes) == 15, classes
    result = Analyzer("gpuobs").analyze(classes)
    described = result["component_definitions"]
    assert set(described) == {one.__name__ for one in classes}
    for name, component in described.items():
        assert component.inputs, f"{name} has no inputs"
        assert component.outputs, f"{name} has no outputs"


def test_what_is_optional_to_other_languages_has_a_default_here() -> None:
    for component in component_classes():
        args = component.__init__.__annotations__["args"]
        for field in args.__dataclass_fields__.values():
            optional = "None" in str(field.type)
            assert optional == (field.default is None), f"{args.__name__}.{field.name}"
