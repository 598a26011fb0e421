"""How a part of the configuration is written down: closed sections, and types that carry a rule.

A rule about one value is a type (:class:`Text`, :class:`Whole` in an ``Annotated``); a rule about
several values of a section is a :class:`RuleViolation` that the section's ``rule_violations``
yields. Both name the rule, the consequence and the fix, which the loader turns into faults.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from infra.settings.descriptions import descriptions

Group = TypeVar("Group")
"""Something that stands for a resource group: its name, or what will be its name."""

RULE_ERROR = "rule"
"""The pydantic error type of a broken rule; its context holds ``rule``, ``why`` and ``fix``."""


@dataclass(frozen=True, kw_only=True)
class RuleViolation:
    """A rule over several values of one section that does not hold.

    ``fields`` are the values it read, as the stack file spells them, relative to the section; where
    one of them is unreadable the rule says nothing. ``at`` is the one to point at, by default the
    only field, or the section itself.
    """

    fields: tuple[str, ...]
    rule: str
    why: str
    fix: str
    value: object = None
    at: str | None = None

    @property
    def relative_path(self) -> str:
        """Where to point, relative to the section."""
        if self.at is not None:
            return self.at
        return self.fields[0] if len(self.fields) == 1 else ""


class Section(BaseModel):
    """A part of the configuration: camelCase in the stack file, closed, immutable.

    The docstring under a field is its description in the reference and in editors.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        defer_build=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        written = handler(schema)
        properties = handler.resolve_ref_schema(written)["properties"]
        for name, description in descriptions(cls).items():
            properties[cls.model_fields[name].alias]["description"] = description
        return written

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The rules over several values that do not hold here."""
        return ()


@dataclass(frozen=True)
class Described:
    """The rule of a type whose check is a function, in words, for the reference."""

    rule: str


def refuse(rule: str, why: str, fix: str) -> PydanticCustomError:
    """The error to raise where a value breaks a rule of its own."""
    return PydanticCustomError(
        RULE_ERROR, "a rule does not hold", {"rule": rule, "why": why, "fix": fix}
    )


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text that must match ``pattern`` whole; ``rule`` says the same in words."""

    pattern: str
    rule: str
    why: str
    fix: str

    def check(self, value: str) -> str:
        """``value``, or the broken rule as an error."""
        if not re.fullmatch(self.pattern, value):
            raise refuse(self.rule, self.why, self.fix)
        return value

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            **handler(schema),
            "pattern": f"^(?:{self.pattern})$",
            "patternErrorMessage": f"{self.rule}: {self.fix}",
        }


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole number from ``minimum`` to ``maximum``."""

    minimum: int
    maximum: int
    why: str
    fix: str

    @property
    def rule(self) -> str:
        """The rule in words."""
        return f"a whole number from {self.minimum} to {self.maximum}"

    def check(self, value: object) -> object:
        """``value``, or the broken rule as an error."""
        # YAML's true is not the number one.
        if isinstance(value, bool):
            raise refuse(self.rule, self.why, self.fix)
        return value

    def limit(self, value: int) -> int:
        """``value``, or the broken rule as an error."""
        if not self.minimum <= value <= self.maximum:
            raise refuse(self.rule, self.why, self.fix)
        return value

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        number = core_schema.no_info_after_validator_function(self.limit, handler(source))
        return core_schema.no_info_before_validator_function(self.check, number)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True)
class Stringified:
    """A text that YAML may have read as a boolean or a whole number: ``true`` becomes ``"true"``.

    A number with a decimal point is refused: YAML reads 1.20 as 1.2, and the zero is gone.
    """

    KINDS: ClassVar = ["string", "boolean", "integer"]
    """What a stack file may hold, in the words of JSON Schema."""

    def check(self, value: object) -> object:
        """``value`` as text where nothing is lost."""
        return stringified(value)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "type": self.KINDS}


_MIDNIGHT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T00:00:00Z")


@dataclass(frozen=True)
class AsWritten(Stringified):
    """A text in which each character counts; a boolean becomes ``"true"`` or ``"false"``.

    What YAML reads as a number or a date is refused: Pulumi hands on 83 for ``0123``, and a point
    in time for ``2026-11-30``, and what was written is gone.
    """

    KINDS: ClassVar = ["string", "boolean"]

    def check(self, value: object) -> object:
        """``value``, or the broken rule as an error."""
        if isinstance(value, int) and not isinstance(value, bool):
            raise refuse(
                "a text, in quotes where it is a number",
                f"YAML read the number {value}; 0123, for one, is the number 83 to it, and what "
                "was written is not known any more.",
                "put what is meant in quotes",
            )
        if isinstance(value, str) and _MIDNIGHT.fullmatch(value):
            raise refuse(
                "a text, in quotes where it is a date",
                "YAML read a point in time, and what was written is not known any more.",
                f'write "{value[:10]}", in quotes',
            )
        return super().check(value)


def stringified(value: object) -> object:
    """A boolean or whole number as the text YAML was given; anything else unchanged."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return value


def as_mapping(value: object) -> dict[str, object] | None:
    """``value`` if it is a mapping with text keys, else None: narrows what YAML gave."""
    if isinstance(value, dict):
        mapping = cast("dict[object, object]", value)
        if all(isinstance(key, str) for key in mapping):
            return cast("dict[str, object]", mapping)
    return None


def one_required(*names: str) -> ConfigDict:
    """The part of a section's configuration that tells editors of :func:`exactly_one`."""
    return ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in names]})


def exactly_one(
    section: Section, *names: str, why: str, fix: str, fields: Sequence[str] = ()
) -> Iterable[RuleViolation]:
    """A violation unless exactly one of the fields is set; ``fields`` are they in camelCase."""
    shown = fields or names
    given = [
        one for one, name in zip(shown, names, strict=True) if getattr(section, name) is not None
    ]
    if len(given) == 1:
        return
    two = len(names) == 2
    if given:
        found = "both are set" if two else f"{' and '.join(given)} are set"
    else:
        found = "neither is set" if two else "none is set"
    listed = f"{', '.join(f'`{one}`' for one in shown[:-1])} and `{shown[-1]}`"
    yield RuleViolation(
        fields=tuple(shown),
        rule=f"exactly one of {listed}; {found}",
        why=why,
        fix=fix,
    )
