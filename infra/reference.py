"""The configuration reference as Markdown, made from the settings themselves."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Annotated, Any, cast, get_args, get_origin

from contract.compatibility import AGENT_SERVERS, AGENTS, CHARTS, SERVER_ENCODINGS
from infra.examples import EXAMPLES
from infra.names import Names, names_for
from infra.settings import NAMESPACE, Settings
from infra.settings.chart_values import OWNED_VALUES
from infra.settings.descriptions import descriptions
from infra.settings.section import Described, Section, Text, Whole

_INTRODUCTION = """\
A stack file, `Pulumi.<stack>.yaml`, holds one structured value per section. Sections `cluster` and
`grafana` are needed; everything else has a default. All of it is checked before the first resource
is touched, and everything that is wrong is reported in one message: where, the rule, why, and what
to write.

- Keys are in camelCase, and a key that does not exist is refused with the nearest one that does.
- Versions go in quotes: YAML reads `1.20` as the number `1.2`.
- No value may be encrypted (`secure:`): settings become names, annotations and chart values, which
  Azure and the cluster show in plain text.
- A first line `# yaml-language-server: $schema=docs/users/stack.schema.json` lets editors complete
  and check the file.
"""

_COMPATIBILITY = """\
The agent sends profiles in an encoding of OpenTelemetry whose fields moved between versions. A
server of another encoding accepts every push and stores nothing readable: no error anywhere, and an
empty flame graph. So versions outside this table are refused; `allowIncompatibleServer: true` in
section `pyroscope` deploys them anyway.
"""

_OWNED = """\
These values are the product's own, because the agent, the private link or the data source rely on
them; in `values` of section `pyroscope` they are refused by name.
"""

_NAMES = """\
Names that a stack file leaves out are derived from the project and the stack, so that two stacks
share a subscription or a Grafana without colliding (Grafana's own name depends on the subscription
too). For a stack `dev`:
"""


def reference(example: str) -> str:
    """The whole document; ``example`` is the text of a stack file to show."""
    return (
        "\n".join(
            [
                "# Configuration",
                "",
                "<!-- Generated from infra/settings by `python -m infra.schema`. -->",
                "",
                _INTRODUCTION,
                "```yaml",
                example.strip(),
                "```",
                "",
                "## By example",
                "",
                *(line for title, text in EXAMPLES for line in _example(title, text)),
                *(line for name, section in _sections() for line in _section(name, section)),
                "## Versions that work together",
                "",
                _COMPATIBILITY,
                *_compatibility(),
                "## Chart values of the product's own",
                "",
                _OWNED,
                *_table(
                    ("Chart value", "Instead"),
                    ((_code(path), _capital(fix)) for path, fix in OWNED_VALUES.items()),
                ),
                "## Default names",
                "",
                _NAMES,
                *_default_names(),
            ]
        ).rstrip()
        + "\n"
    )


def _example(title: str, text: str) -> Iterator[str]:
    yield f"{title}:"
    yield ""
    yield "```yaml"
    yield text.rstrip()
    yield "```"
    yield ""


def _sections() -> Iterator[tuple[str, type[Section]]]:
    for name, field in Settings.model_fields.items():
        yield field.alias or name, cast("type[Section]", field.annotation)


def _section(name: str, section: type[Section]) -> Iterator[str]:
    yield f"## `{NAMESPACE}:{name}`"
    yield ""
    yield _prose(section.__doc__ or "")
    yield ""
    yield from _table(("Setting", "Default", "Meaning", "Rule"), _rows(section))


def _rows(section: type[Section], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    meaning = descriptions(section)
    for name, field in section.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        annotation: object = field.annotation
        inner = _inner_section(annotation)
        needed = field.is_required()
        default = "needed" if needed else _default(field.get_default(call_default_factory=True))
        rule = _rule((annotation, *field.metadata))
        yield _code(path), default, _prose(meaning.get(name, "")), rule
        if inner is not None:
            many = "[]" if _is_list(annotation) else ""
            yield from _rows(inner, f"{path}{many}.")


def _default(value: object) -> str:
    """A default as the stack file would write it; empty where nothing is the default."""
    if value is None or value in ((), {}) or isinstance(value, Section):
        return ""
    if isinstance(value, Enum):
        return _code(str(value.value))
    if isinstance(value, tuple):
        return _code(json.dumps(cast("tuple[object, ...]", value)))
    if isinstance(value, str):
        # A version needs its quotes.
        return _code(f'"{value}"' if value[:1].isdigit() and value[-1:].isdigit() else value)
    return _code(json.dumps(value))


def _rule(annotations: Iterable[object]) -> str:
    """The rules in a field's types, in words."""
    rules: list[str] = []
    for annotation in annotations:
        if isinstance(annotation, Text | Whole | Described):
            rules.append(annotation.rule)
        elif isinstance(annotation, type) and issubclass(annotation, Enum):
            rules.append("one of " + ", ".join(_code(str(one.value)) for one in annotation))
        elif annotation is bool:
            rules.append("`true` or `false`")
        elif not (isinstance(annotation, type) and issubclass(annotation, Section)):
            rules.append(_rule(get_args(annotation)))
    return "; ".join(dict.fromkeys(rule for rule in rules if rule))


def _inner_section(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    found = (_inner_section(part) for part in get_args(annotation))
    return next((one for one in found if one is not None), None)


def _is_list(annotation: object) -> bool:
    origin: Any = get_origin(annotation)
    if origin is Annotated:
        return _is_list(get_args(annotation)[0])
    return origin is not None and origin is not Mapping and "Sequence" in repr(origin)


def _compatibility() -> Iterator[str]:
    yield from _table(
        ("Agent (Inspektor Gadget)", "Pyroscope that stores its profiles"),
        ((str(agents), str(servers)) for agents, servers in AGENT_SERVERS),
    )
    yield _prose(
        "The installed agent is held against this table at every preview; one that is newer than "
        f"{AGENTS} is reported as not known. From 1.16 on Pyroscope refuses every push of an agent "
        "before 0.54 (`invalid metric name`). The encodings:"
    )
    yield ""
    yield from _table(
        ("Pyroscope", "Reads OTLP profiles"),
        ((str(servers), encoding) for servers, encoding in SERVER_ENCODINGS),
    )
    yield _prose(
        f"The chart must be {CHARTS}. Its own image does not have to fit: chart 1.15.0 brings "
        "server 1.14.1, hence `imageTag` is always set."
    )
    yield ""


def _default_names() -> Iterator[str]:
    names = names_for(NAMESPACE, "dev")
    yield from _table(
        ("Of", "Name"),
        (
            (_capital(one.name.replace("_", " ")), _code(getattr(names, one.name)))
            for one in fields(Names)
        ),
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _code(text: str) -> str:
    return f"`{text}`"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _prose(text: str) -> str:
    """One paragraph; the docstrings' double backticks are Markdown's single ones."""
    return textwrap.dedent(" ".join(text.split())).replace("``", "`")
