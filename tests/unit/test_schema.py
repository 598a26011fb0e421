"""The JSON Schema for editors and the reference, generated from the settings."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
import yaml

from infra import schema
from infra.examples import EXAMPLES
from infra.settings import GpuPoolSettings, Settings
from infra.settings.descriptions import descriptions
from infra.settings.section import Section
from tests.unit.stack_files import CREATED, EXISTING, ROOT, error, stack

VALIDATOR: Any = cast("Any", jsonschema.Draft7Validator)(schema.stack_schema())


def accepts(sections: dict[str, object]) -> bool:
    file = {"config": {f"gpuobs:{name}": section for name, section in sections.items()}}
    return bool(VALIDATOR.is_valid(file))


def test_the_generated_files_are_in_step_with_the_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert schema.main(["--check"]) == 0, capsys.readouterr().err


def test_a_file_that_is_out_of_step_is_reported_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_text(example, encoding="utf-8")
    monkeypatch.setattr(schema, "ROOT", tmp_path)

    assert schema.main(["--check"]) == 1
    assert "python -m infra.schema" in capsys.readouterr().err
    assert not (tmp_path / schema.SCHEMA_FILE).exists()
    assert schema.main([]) == 0
    assert schema.main(["--check"]) == 0


def test_the_schema_is_one_that_editors_understand() -> None:
    VALIDATOR.check_schema(schema.stack_schema())


@pytest.mark.parametrize("name", ["Pulumi.dev.yaml", "Pulumi.prod.yaml", "Pulumi.sandbox.yaml"])
def test_the_shipped_stack_files_match_the_schema_and_point_to_it(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    reference = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)

    VALIDATOR.validate(yaml.safe_load(text))
    assert reference is not None
    assert json.loads((ROOT / reference[1]).read_text(encoding="utf-8")) == schema.stack_schema()


GOOD: list[dict[str, object]] = [
    EXISTING,
    CREATED,
    stack({"gpuPool": {"labels": {"a": True}, "zones": [1, "2"], "spot": {}}}),
    stack({"grafana": {"create": {"majorVersion": 12}}}, {**EXISTING, "grafana": {}}),
    stack({"pyroscope": {"values": {"pyroscope": {"extraLabels": {"a": True}}}}}),
]
BAD: list[dict[str, object]] = [
    {"cluster": EXISTING["cluster"]},
    stack({"pyroscpe": {}}),
    stack({"gpuPool": {"vm_size": "Standard_NC24ads_A100_v4"}}),
    stack({"gpuPool": {"name": "gpu-enabled"}}),
    stack({"gpuPool": {"count": -1}}),
    stack({"gpuPool": {"osSku": "Windows"}}),
    stack({"cluster": {"create": {}}}),
    stack({"pyroscope": {"privateLink": {"name": "a b"}}}),
    stack({"grafana": {"dashboard": {"uid": "x" * 41}}}),
    stack({"prometheus": {"azureMonitorWorkspace": {}}}),
]


@pytest.mark.parametrize("sections", GOOD)
def test_the_schema_takes_what_the_settings_take(sections: dict[str, object]) -> None:
    assert error(sections) is None
    assert accepts(sections)


@pytest.mark.parametrize("sections", BAD)
def test_the_schema_refuses_what_the_settings_refuse(sections: dict[str, object]) -> None:
    assert error(sections) is not None
    assert not accepts(sections)


@pytest.mark.parametrize(("title", "text"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_every_example_of_the_reference_is_taken(title: str, text: str) -> None:
    sections = {
        name.removeprefix("gpuobs:"): section for name, section in yaml.safe_load(text).items()
    }
    # Of three kinds of Grafana there is one.
    base: dict[str, object] = dict(EXISTING)
    if "selfHosted" in text:
        del base["grafana"]
    assert error(stack(sections, base)) is None, title
    assert accepts(stack(sections, base))


def test_other_packages_configuration_is_none_of_the_schemas_business() -> None:
    config = {f"gpuobs:{name}": section for name, section in EXISTING.items()}

    assert VALIDATOR.is_valid(
        {"config": {**config, "azure-native:location": "westeurope"}, "encryptionsalt": "v1:x"}
    )


def _each_field(section: type[Section], check: Callable[[type[Section], str], None]) -> None:
    for name, field in section.model_fields.items():
        check(section, name)
        for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(part, type) and issubclass(part, Section):
                _each_field(part, check)


def test_every_setting_is_described_and_listed_in_the_reference() -> None:
    text = (ROOT / schema.REFERENCE_FILE).read_text(encoding="utf-8")

    def check(section: type[Section], name: str) -> None:
        field = section.model_fields[name]
        assert descriptions(section).get(name), f"{section.__name__}.{name} has a docstring"
        assert re.search(rf"`([\w.\[\]]+\.|gpuobs:)?{field.alias or name}`", text), name

    _each_field(Settings, check)


def test_editors_show_what_a_setting_means() -> None:
    definitions = cast("dict[str, Any]", schema.stack_schema()["definitions"])
    described = definitions["GpuPoolSettings"]["properties"]["vmSize"]["description"]
    assert described == descriptions(GpuPoolSettings)["vm_size"]
