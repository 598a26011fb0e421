"""The Python SDK is newer than the provider that these tests run: what the program uses, both know.

The SDK asks for a provider of its own version; the published Go module is older, and a real
installation has what the SDK asks for. So nothing may be used that only one of the two has.
"""

import inspect
import json
import re
import subprocess
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from infra.start import deploy
from simulator.values import JsonObject, as_object, as_text, dig
from tests.unit import answers
from tests.unit.recording import Registered, record
from tests.unit.test_program import sections
from tools.provide import KUBERNETES_PROVIDER, provide

pytestmark = pytest.mark.kubernetes

ROOT = Path(__file__).parents[2]
SPECIAL = {"values"}
"""Inputs that any JSON fits in: the chart's schema says what belongs there."""
NOT_IN_THE_PROVIDER = {
    "Provider": {"always_render", "enable_patch_force", "upsert_existing_objects"},
    "Release": {"take_ownership"},
}


@contextmanager
def plugin() -> Generator[Any]:
    """The provider as the engine runs it."""
    process = subprocess.Popen(
        [str(provide(KUBERNETES_PROVIDER)), "127.0.0.1:1"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        options = [("grpc.max_receive_message_length", -1)]
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            yield provider_pb2_grpc.ResourceProviderStub(channel)
    finally:
        process.kill()
        process.communicate()


@cache
def schema_and_version() -> tuple[JsonObject, str]:
    with plugin() as provider:
        text = provider.GetSchema(provider_pb2.GetSchemaRequest()).schema
        version = provider.GetPluginInfo(empty_pb2.Empty()).version
    return as_object(json.loads(text)), as_text(version)


@cache
def used() -> tuple[Registered, ...]:
    """Every kubernetes resource of a stack that uses as much of them as a stack can."""
    config = sections("dev")
    config["gpuPool"] = {"migProfile": "MIG1g"}
    config["pyroscope"] = {
        "storage": {"disk": {"size": "50Gi"}},
        "chart": {"repository": "https://grafana.github.io/helm-charts"},
    }
    azure = answers.Azure()
    recorded = record(
        lambda: deploy(azure),
        answer_resource=azure.resource,
        answer_call=azure.call,
        config={f"gpuobs:{key}": json.dumps(value) for key, value in config.items()},
    )
    return tuple(
        one
        for one in recorded.resources
        if one.type.startswith(("kubernetes:", "pulumi:providers:kubernetes"))
    )


def test_the_program_uses_what_is_compared() -> None:
    assert {one.type for one in used()} == {
        "kubernetes:core/v1:Namespace",
        "kubernetes:apps/v1:DaemonSet",
        "kubernetes:helm.sh/v3:Release",
        "pulumi:providers:kubernetes",
    }


def test_the_provider_knows_every_property_that_the_program_sets() -> None:
    schema, _ = schema_and_version()
    unknown = [
        f"{one.type}: {path}"
        for one in used()
        for path in not_in_schema(schema, definition(schema, one.type), one.inputs)
    ]
    assert unknown == []


def test_the_sdk_knows_every_property_that_the_program_sets() -> None:
    schema, _ = schema_and_version()
    unknown = [
        f"{one.type}: {path}"
        for one in used()
        for path in not_in_sdk(
            schema, sdk_class(one.type), definition(schema, one.type), one.inputs
        )
    ]
    assert unknown == []


@pytest.mark.parametrize("name", ["Provider", "Release"])
def test_what_only_the_sdk_knows_is_not_used(name: str) -> None:
    schema, _ = schema_and_version()
    kind = {"Provider": "pulumi:providers:kubernetes", "Release": "kubernetes:helm.sh/v3:Release"}[
        name
    ]
    known = {plain(key) for key in as_object(definition(schema, kind)["inputProperties"])}
    only_sdk = {key for key in parameters(sdk_class(kind)) if plain(key) not in known}
    if schema_and_version()[1] == "4.25.0":
        assert only_sdk == NOT_IN_THE_PROVIDER[name]
    for one in used():
        if one.type == kind:
            assert not {plain(key) for key in one.inputs} & {plain(key) for key in only_sdk}


def test_the_page_states_both_versions() -> None:
    page = (ROOT / "docs" / "maintainers" / "kubernetes.md").read_text()
    assert f"`pulumi-kubernetes` {metadata.version('pulumi-kubernetes')}" in page
    main = (ROOT / "tools" / "pulumi-resource-kubernetes" / "main.go").read_text()
    (built,) = re.findall(r'provider\.Serve\("kubernetes", "([\d.]+)"', main)
    assert built in page


# --- the provider's schema -----------------------------------------------------------------------


def definition(schema: JsonObject, kind: str) -> JsonObject:
    if kind == "pulumi:providers:kubernetes":
        return as_object(schema["provider"])
    return as_object(as_object(schema["resources"])[kind])


def not_in_schema(
    schema: JsonObject, definition: JsonObject, inputs: Mapping[str, Any], at: str = ""
) -> Iterator[str]:
    """The paths of ``inputs`` that the schema has no property for."""
    properties = as_object(definition.get("inputProperties") or definition.get("properties"))
    for key, value in inputs.items():
        if key not in properties:
            yield f"{at}{key}"
        elif key not in SPECIAL:
            for part, below in nested(schema, as_object(properties[key]), value):
                yield from not_in_schema(schema, below, part, f"{at}{key}.")


def nested(
    schema: JsonObject, kind: JsonObject, value: object
) -> Iterator[tuple[Mapping[str, Any], JsonObject]]:
    """The objects in ``value`` whose type the schema spells out."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from nested(schema, as_object(kind.get("items")), item)
    reference = as_text(kind.get("$ref"))
    if isinstance(value, dict) and reference:
        name = reference.removeprefix("#/types/").replace("%2F", "/")
        yield cast("dict[str, Any]", value), as_object(as_object(schema["types"])[name])


# --- the SDK -------------------------------------------------------------------------------------


def sdk_class(kind: str, suffix: str = "") -> type[object]:
    if kind == "pulumi:providers:kubernetes":
        return cast("type[object]", import_module("pulumi_kubernetes").Provider)
    _, module, name = kind.split(":")
    module = module.replace("helm.sh", "helm").replace("/", ".")
    return cast(
        "type[object]", getattr(import_module(f"pulumi_kubernetes.{module}"), name + suffix)
    )


def parameters(kind: type[object]) -> set[str]:
    initial = getattr(kind, "_internal_init", None) or kind.__init__
    return set(inspect.signature(initial).parameters) - {
        "__self__",
        "__props__",
        "self",
        "opts",
        "resource_name",
    }


def plain(name: str) -> str:
    """``clusterIP`` and ``cluster_ip`` are one property."""
    return name.replace("_", "").lower()


def not_in_sdk(
    schema: JsonObject,
    kind: type[object],
    definition: JsonObject,
    inputs: Mapping[str, Any],
    at: str = "",
) -> Iterator[str]:
    """The paths of ``inputs`` that the SDK's classes have no argument for."""
    known = {plain(name) for name in parameters(kind)}
    properties = as_object(definition.get("inputProperties") or definition.get("properties"))
    for key, value in inputs.items():
        if plain(key) not in known:
            yield f"{at}{key}"
            continue
        reference = as_text(dig(properties, key, "$ref") or dig(properties, key, "items", "$ref"))
        if key in SPECIAL or not reference:
            continue
        token = reference.removeprefix("#/types/").replace("%2F", "/")
        for part, below in nested(schema, as_object(properties[key]), value):
            yield from not_in_sdk(schema, sdk_class(token, "Args"), below, part, f"{at}{key}.")
