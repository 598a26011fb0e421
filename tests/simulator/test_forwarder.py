"""A Collector in the cluster forwards profiles as the real one of its release does, or not."""

import base64
import json

import pytest

from simulator.kubernetes import forwarder, state
from simulator.values import JsonObject, as_object, bury, clone_object
from simulator.world import ClusterState

LABELS = {"app": "forwarder"}
CONFIGURATION: JsonObject = {
    "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": "0.0.0.0:4040"}}}},
    "exporters": {
        "otlp_grpc": {
            "endpoint": "pyroscope.monitoring.svc:443",
            "tls": {"insecure": False},
            "headers": {"authorization": "${env:AUTHORIZATION}"},
        }
    },
    "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_grpc"]}}},
}
SERVICE: JsonObject = {
    "kind": "Service",
    "metadata": {"annotations": {forwarder.WANTED: "Basic x"}},
    "spec": {"ports": [{"name": "https", "port": 443}, {"name": "http2", "port": 4040}]},
}
TO = forwarder.Destination("pyroscope.monitoring.svc", 443, tls=True, authorization="Basic x")


def collector(**changes: object) -> JsonObject:
    reference = {"secretKeyRef": {"name": "push", "key": "authorization"}}
    container: JsonObject = {
        "image": "example.org/otel/opentelemetry-collector:0.147.0",
        "args": ["--config=env:CONFIGURATION", forwarder.GATE],
        "env": [
            {"name": "CONFIGURATION", "value": json.dumps(CONFIGURATION)},
            {"name": "AUTHORIZATION", "valueFrom": reference},
        ],
        **changes,
    }
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "forwarder", "namespace": "gadget"},
        "spec": {"template": template},
    }


@pytest.fixture
def objects() -> ClusterState:
    found = ClusterState()
    secret: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "push", "namespace": "gadget"},
        "data": {"authorization": base64.b64encode(b"Basic x").decode()},
    }
    state.add(found, secret)
    return found


def test_it_sends_on_what_comes_to_its_port_with_the_header_of_its_secret(
    objects: ClusterState,
) -> None:
    assert forwarder.destination(objects, collector(), 4040) == TO
    assert forwarder.refusal(SERVICE, TO) == ""
    assert forwarder.missing(objects, collector()) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"image": "otel/opentelemetry-collector:0.148.0"}, "agent's version"),
        ({"args": ["--config=env:CONFIGURATION"]}, "service.profilesSupport"),
        ({"env": []}, "connection refused"),
    ],
)
def test_without_the_release_the_gate_or_a_pipeline_nothing_is_sent(
    objects: ClusterState, changes: dict[str, object], words: str
) -> None:
    found = forwarder.destination(objects, collector(**changes), 4040)
    assert isinstance(found, str)
    assert words in found


def test_a_pod_whose_secret_is_missing_does_not_start() -> None:
    assert forwarder.missing(ClusterState(), collector()) == 'secret "push" not found'


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"port": 80}, "connection refused"),
        ({"port": 4040}, "TLS handshake"),
        ({"tls": False}, "server preface"),
        ({"authorization": ""}, "Unauthenticated"),
    ],
)
def test_a_server_takes_nothing_that_comes_otherwise(
    changes: dict[str, object], words: str
) -> None:
    fields = {"host": TO.host, "port": 443, "tls": True, "authorization": "Basic x", **changes}
    to = forwarder.Destination(**fields)  # pyright: ignore[reportArgumentType]
    assert words in forwarder.refusal(SERVICE, to)


def test_a_server_without_credentials_takes_any() -> None:
    service = clone_object(SERVICE)
    bury(as_object(service["metadata"]), {}, "annotations")
    assert forwarder.refusal(service, TO) == ""
