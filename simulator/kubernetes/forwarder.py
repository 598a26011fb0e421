"""An OpenTelemetry Collector that forwards profiles: where to, or why it does not.

Read at v0.147.0: profiles need the feature gate ``service.profilesSupport`` (alpha, in
``service/metadata.yaml``) and a pipeline of that name; the receiver ``otlp`` and the exporter
``otlp_grpc`` have them in development (their ``metadata.yaml``). From v0.148.0 on fields of
``Sample`` have other numbers (pull request 14652), so that what the agent sends is not what such a
Collector reads.
"""

import base64
import json
import re
from dataclasses import dataclass
from typing import Final

from simulator.kubernetes import state
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from simulator.world import ClusterState

IMAGE: Final = "opentelemetry-collector"
GATE: Final = "--feature-gates=service.profilesSupport"
NEWEST: Final = (0, 147)
"""The last release that speaks the agent's version of profiles."""
SECURED: Final = "https"
"""Name of a Service's port at which TLS is spoken."""
WANTED: Final = "simulator/authorization"
"""Annotation of a Service: the header without which its server takes nothing."""
_ENVIRONMENT: Final = re.compile(r"\$\{env:(\w+)\}")


@dataclass(frozen=True)
class Destination:
    """Where a forwarder sends profiles."""

    host: str
    port: int
    tls: bool
    authorization: str


def behind(objects: ClusterState, service: JsonObject) -> JsonObject | None:
    """The Collector's Deployment whose pods a Service selects."""
    selector = as_object(dig(service, "spec", "selector"))
    for one in objects.of_kind("Deployment", state.namespace_of(service)):
        labels = as_object(dig(one, "spec", "template", "metadata", "labels"))
        if selector and selector.items() <= labels.items() and IMAGE in _image(one):
            return one
    return None


def destination(objects: ClusterState, collector: JsonObject, port: int) -> Destination | str:
    """Where it sends what comes to its ``port``, or why it does not."""
    release = re.fullmatch(r"0\.(\d+)\.\d+", _image(collector).rpartition(":")[2])
    if release is None or (0, int(release[1])) > NEWEST:
        return "the collector does not speak the agent's version of profiles"
    container = as_objects(state.pod_spec(collector).get("containers"))[0]
    if GATE not in texts(container.get("args")):
        return "profiling signal support is gated under service.profilesSupport"
    given = _environment(objects, collector, container)
    if isinstance(given, str):
        return given
    config = as_object(json.loads(given.get("CONFIGURATION", "{}")))
    listening = as_text(dig(config, "receivers", "otlp", "protocols", "grpc", "endpoint"))
    pipeline = as_object(dig(config, "service", "pipelines", "profiles"))
    if not listening.endswith(f":{port}") or texts(pipeline.get("receivers")) != ["otlp"]:
        return "connection refused"
    exporter = as_object(dig(config, "exporters", "otlp_grpc"))
    host, _, number = as_text(exporter.get("endpoint")).rpartition(":")
    header = as_text(dig(exporter, "headers", "authorization"))
    told = _ENVIRONMENT.sub(lambda name: given.get(name[1], ""), header)
    return Destination(host, int(number), dig(exporter, "tls", "insecure") is not True, told)


def missing(objects: ClusterState, workload: JsonObject) -> str:
    """What of its Secrets a Collector's container lacks, as the kubelet says it; empty: nothing."""
    if IMAGE not in _image(workload):
        return ""
    container = as_objects(state.pod_spec(workload).get("containers"))[0]
    found = _environment(objects, workload, container)
    return found if isinstance(found, str) else ""


def refusal(service: JsonObject, to: Destination) -> str:
    """Why the server behind a Service does not take what is sent so; empty: it does."""
    ports = as_objects(dig(service, "spec", "ports"))
    found = next((one for one in ports if one.get("port") == to.port), None)
    if found is None:
        return "connection refused"
    if to.tls and found.get("name") != SECURED:
        return "tls: first record does not look like a TLS handshake"
    if not to.tls and found.get("name") == SECURED:
        return "error reading server preface: EOF"
    wanted = as_text(dig(service, "metadata", "annotations", WANTED))
    if to.tls and wanted and to.authorization != wanted:
        return "rpc error: code = Unauthenticated"
    return ""


def _image(workload: JsonObject) -> str:
    containers = as_objects(state.pod_spec(workload).get("containers"))
    return as_text(containers[0].get("image")) if containers else ""


def _environment(
    objects: ClusterState, workload: JsonObject, container: JsonObject
) -> dict[str, str] | str:
    found: dict[str, str] = {}
    namespace = state.namespace_of(workload)
    for one in as_objects(container.get("env")):
        reference = as_object(dig(one, "valueFrom", "secretKeyRef"))
        value = as_text(one.get("value"))
        if reference:
            name, key = as_text(reference.get("name")), as_text(reference.get("key"))
            secret = state.find(objects, "Secret", namespace, name)
            if secret is None:
                return f'secret "{name}" not found'
            encoded = as_text(dig(secret, "data", key))
            value = base64.b64decode(encoded).decode() or as_text(dig(secret, "stringData", key))
            if not value:
                return f"couldn't find key {key} in Secret {name}"
        found[as_text(one.get("name"))] = value
    return found
