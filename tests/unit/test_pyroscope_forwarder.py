"""The forwarder between the agents and a Pyroscope that wants TLS or credentials."""

import json
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.pyroscope_elsewhere import PyroscopeElsewhere, PyroscopeElsewhereArgs
from components.pyroscope_forwarder import ForwarderArgs
from simulator.values import dig
from tests.unit import answers
from tests.unit.recording import Recorded, record

DEPLOYMENT, SERVICE = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Service"
NAME, KEY = "push", "authorization"
PLAIN = ForwarderArgs(host="10.0.0.4", port=4041, tls=False)
SECURED = ForwarderArgs(host="p.example.org", port=443, tls=True, secret=NAME, secret_key=KEY)


def deploy(forwarder: ForwarderArgs | None) -> Recorded:
    def program() -> None:
        provider = kubernetes.Provider("kubernetes", kubeconfig="")
        args = PyroscopeElsewhereArgs(namespace="gadget", host="p.example.org", forwarder=forwarder)
        PyroscopeElsewhere("elsewhere", args, pulumi.ResourceOptions(providers=[provider]))

    return record(program, answer_resource=answers.Azure().resource)


def container(forwarder: ForwarderArgs) -> dict[str, Any]:
    found = deploy(forwarder).only(DEPLOYMENT).inputs
    (one,) = found["spec"]["template"]["spec"]["containers"]
    return one


def configuration(forwarder: ForwarderArgs) -> dict[str, Any]:
    return json.loads(container(forwarder)["env"][0]["value"])


def test_it_takes_what_the_agents_push_and_sends_it_on() -> None:
    found = configuration(PLAIN)
    assert dig(found, "receivers", "otlp", "protocols", "grpc", "endpoint") == "0.0.0.0:4040"
    assert found["exporters"]["otlp_grpc"] == {
        "endpoint": "10.0.0.4:4041",
        "tls": {"insecure": True},
    }
    assert found["service"]["pipelines"] == {
        "profiles": {"receivers": ["otlp"], "exporters": ["otlp_grpc"]}
    }


def test_it_is_the_release_that_speaks_the_agents_version_with_profiles_switched_on() -> None:
    found = container(PLAIN)
    assert found["image"] == "otel/opentelemetry-collector:0.147.0"
    assert found["args"] == [
        "--config=env:CONFIGURATION",
        "--feature-gates=service.profilesSupport",
    ]


def test_credentials_are_a_reference_in_the_state_and_a_name_in_the_configuration() -> None:
    found = container(SECURED)
    assert found["env"][1]["valueFrom"] == {
        "secretKeyRef": {"name": "push", "key": "authorization"}
    }
    exporter = configuration(SECURED)["exporters"]["otlp_grpc"]
    assert exporter["tls"] == {"insecure": False}
    assert exporter["headers"] == {"authorization": "${env:AUTHORIZATION}"}


def test_a_policy_that_demands_limits_or_a_user_takes_its_pods() -> None:
    found = container(SECURED)
    assert set(found["resources"]) == {"requests", "limits"}
    assert found["securityContext"]["allowPrivilegeEscalation"] is False
    assert found["securityContext"]["readOnlyRootFilesystem"] is True


def test_the_agents_service_leads_to_its_pods_and_without_it_to_the_host() -> None:
    recorded = deploy(SECURED)
    service, deployment = recorded.only(SERVICE), recorded.only(DEPLOYMENT)
    labels = deployment.inputs["spec"]["template"]["metadata"]["labels"]
    assert service.inputs["spec"]["selector"] == labels
    assert service.inputs["metadata"]["name"] == "pyroscope"
    assert {one["port"] for one in service.inputs["spec"]["ports"]} == {4040}
    plain = deploy(None)
    assert plain.only(SERVICE).inputs["spec"]["externalName"] == "p.example.org"
    assert not plain.of_type(DEPLOYMENT)
