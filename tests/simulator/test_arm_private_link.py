"""The private link, step by step: what each step changes, and what it does not."""

import os
from typing import cast

import pytest
from azure.core.credentials import TokenCredential
from azure.core.exceptions import ResourceNotFoundError, map_error
from azure.core.pipeline import PipelineResponse
from azure.core.pipeline.policies import (
    ContentDecodePolicy,
    RedirectPolicy,
    RequestIdPolicy,
    RetryPolicy,
)
from azure.core.polling import LROPoller
from azure.core.rest import HttpRequest, HttpResponse
from azure.identity import DefaultAzureCredential
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import (
    ARMAutoResourceProviderRegistrationPolicy,
    ARMChallengeAuthenticationPolicy,
)
from azure.mgmt.core.polling.arm_polling import ARMPolling

from simulator.arm.private_link import ENDPOINT_SUBSCRIPTION
from simulator.seed import SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.simulator.azure import (
    CLUSTER,
    ENDPOINT,
    GRAFANA,
    PLS,
    Azure,
    Kubernetes,
    pyroscope_values,
)

STATE = ("properties", "connectionState", "status")
ADDRESS = ("properties", "privateLinkServicePrivateIP")


@pytest.fixture
def kubernetes(azure: Azure) -> Kubernetes:
    cluster = Kubernetes(azure)
    cluster.make_namespace()
    return cluster


@pytest.fixture
def sdk_environment(azure: Azure, monkeypatch: pytest.MonkeyPatch) -> Azure:
    for name in list(os.environ):
        if name.startswith(("AZURE_", "MSI_", "IDENTITY_")):
            monkeypatch.delenv(name)
    for name, value in azure.server.environment.items():
        monkeypatch.setenv(name, value)
    return azure


def deploy(kubernetes: Kubernetes, **annotations: object) -> None:
    release = kubernetes.release(pyroscope_values(**annotations))
    assert release["status"] == "deployed", release


def test_a_link_is_approved_on_one_side_and_shows_on_the_other_after_the_refresh_only(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    made = azure.make_endpoint()
    assert dig(made, *STATE) == "Pending"
    assert dig(made, *ADDRESS) is None

    assert azure.decide("Approved").status_code == 200
    assert dig(azure.get(ENDPOINT), *STATE) == "Pending"
    assert dig(azure.get(ENDPOINT), *ADDRESS) is None

    azure.refresh()
    assert dig(azure.get(ENDPOINT), *STATE) == "Approved"
    assert as_text(dig(azure.get(ENDPOINT), *ADDRESS)).startswith("10.")


def test_a_refresh_before_the_approval_changes_nothing(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    azure.refresh()
    assert dig(azure.get(ENDPOINT), *STATE) == "Pending"
    assert dig(azure.get(ENDPOINT), *ADDRESS) is None


def test_the_connection_names_the_endpoint_in_microsofts_subscription(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    (connection,) = azure.connections()
    endpoint = as_text(dig(connection, "properties", "privateEndpoint", "id"))
    assert endpoint.endswith("/privateEndpoints/grafana-grafana-dev-pyroscope-mpe")
    assert endpoint.startswith(f"/subscriptions/{ENDPOINT_SUBSCRIPTION}/")
    assert as_text(dig(connection, "properties", "linkIdentifier")).isdigit()


def test_two_endpoints_on_one_service_are_two_connections(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    azure.make_endpoint(f"{GRAFANA}/managedPrivateEndpoints/pyroscope-mpe2")
    assert len(azure.connections()) == 2
    azure.decide("Approved", 0)
    azure.refresh()
    assert dig(azure.get(ENDPOINT), *STATE) == "Approved"
    other = azure.get(f"{GRAFANA}/managedPrivateEndpoints/pyroscope-mpe2")
    assert dig(other, *STATE) == "Pending"


def test_an_approved_connection_cannot_be_approved_again_but_can_be_rejected_for_good(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    azure.decide("Approved")
    assert azure.decide("Approved").status_code == 400
    assert azure.decide("Rejected").status_code == 200
    azure.refresh()
    assert dig(azure.get(ENDPOINT), *STATE) == "Rejected"
    assert dig(azure.get(ENDPOINT), *ADDRESS) is None
    assert azure.decide("Approved").status_code == 400


def test_a_removed_connection_disconnects_its_endpoint_and_a_removed_endpoint_its_connection(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    name = as_text(azure.connections()[0].get("name"))
    azure.delete(f"{PLS}/privateEndpointConnections/{name}")
    azure.refresh()
    assert dig(azure.get(ENDPOINT), *STATE) == "Disconnected"
    azure.delete(ENDPOINT)
    azure.make_endpoint()
    assert len(azure.connections()) == 1
    azure.delete(ENDPOINT)
    assert azure.connections() == []


def test_resource_manager_deletes_no_service_that_something_is_connected_to(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    assert azure.error(azure.call("DELETE", PLS)) == (
        400,
        "PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted",
    )
    azure.delete(ENDPOINT)
    assert azure.call("DELETE", PLS).status_code == 202


def test_the_cloud_controller_cuts_off_whoever_is_connected_when_the_service_goes(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    others = f"{GRAFANA}/managedPrivateEndpoints/somebody-elses"
    azure.make_endpoint()
    azure.make_endpoint(others)
    azure.decide("Approved", 0)
    azure.refresh()

    assert kubernetes.uninstall() == {}
    assert azure.call("GET", PLS).status_code == 404
    # Without a word to those who were connected: they see it when they look again.
    assert dig(azure.get(ENDPOINT), *STATE) == "Approved"
    azure.refresh()
    for endpoint in (ENDPOINT, others):
        assert dig(azure.get(endpoint), *STATE) == "Disconnected"


def test_a_visibility_without_grafanas_subscription_blocks_the_endpoint(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes, pls_visibility=SUBSCRIPTION_ID)
    assert dig(azure.make_endpoint(), "properties", "provisioningState") == "Failed"
    assert azure.connections() == []


@pytest.mark.parametrize(
    ("approval", "visibility", "state"),
    [
        (ENDPOINT_SUBSCRIPTION, "*", "Approved"),
        (f"{SUBSCRIPTION_ID} {ENDPOINT_SUBSCRIPTION}", "*", "Approved"),
        (f"{SUBSCRIPTION_ID},{ENDPOINT_SUBSCRIPTION}", "*", "Pending"),
        (ENDPOINT_SUBSCRIPTION, ENDPOINT_SUBSCRIPTION, "Pending"),
        ("*", "*", "Pending"),
    ],
)
def test_auto_approval_matches_subscriptions_between_spaces_where_everybody_may_look(
    azure: Azure, kubernetes: Kubernetes, approval: str, visibility: str, state: str
) -> None:
    deploy(kubernetes, pls_auto_approval=approval, pls_visibility=visibility)
    azure.make_endpoint()
    (connection,) = azure.connections()
    shown = dig(connection, "properties", "privateLinkServiceConnectionState", "status")
    assert shown == state


def test_an_endpoint_to_a_service_that_is_not_there_fails(azure: Azure) -> None:
    made = azure.make_endpoint()
    assert dig(made, "properties", "provisioningState") == "Failed"


def test_inputs_of_an_endpoint_never_change_but_its_tags_do(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    properties = {"privateLinkResourceId": PLS, "requestMessage": "another"}
    answer = azure.call("PUT", ENDPOINT, {"location": "westeurope", "properties": properties})
    assert answer.status_code == 400
    assert azure.call("PATCH", ENDPOINT, {"tags": {"a": "b"}}).status_code == 200
    assert azure.get(ENDPOINT)["tags"] == {"a": "b"}


def test_a_request_message_has_at_most_140_characters(azure: Azure, kubernetes: Kubernetes) -> None:
    deploy(kubernetes)
    for length, status in ((140, 201), (141, 400)):
        properties = {"privateLinkResourceId": PLS, "requestMessage": "m" * length}
        path = f"{GRAFANA}/managedPrivateEndpoints/of-{length}"
        answer = azure.call("PUT", path, {"location": "westeurope", "properties": properties})
        assert answer.status_code == status


def test_a_service_that_is_being_changed_takes_no_other_change(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    path = as_text(azure.connections()[0]["id"])
    body = {"properties": {"privateLinkServiceConnectionState": {"status": "Approved"}}}
    azure.settings(latency=100.0)
    try:
        assert azure.call("PUT", path, body).status_code == 200
        assert azure.error(azure.call("PUT", path, body)) == (409, "ConflictError")
        assert azure.error(azure.call("DELETE", path)) == (409, "ConflictError")
    finally:
        azure.settings(latency=0.0)


@pytest.mark.parametrize("name", ["ab", "a" * 21, "-ab", "a_b"])
def test_an_endpoints_name_has_3_to_20_letters_digits_and_hyphens(azure: Azure, name: str) -> None:
    body = {"location": "westeurope", "properties": {"privateLinkResourceId": PLS}}
    answer = azure.call("PUT", f"{GRAFANA}/managedPrivateEndpoints/{name}", body)
    assert answer.status_code == 400


class OfficialClient:
    """The pipeline that every official management client is made of, with its own defaults."""

    def __init__(self, arm_url: str, credential: TokenCredential) -> None:
        self._arm_url = arm_url
        self.pipeline = ARMPipelineClient[HttpRequest, HttpResponse](
            arm_url,
            policies=[
                RequestIdPolicy(),
                ContentDecodePolicy(),
                ARMAutoResourceProviderRegistrationPolicy(),
                RedirectPolicy(),
                RetryPolicy(),
                ARMChallengeAuthenticationPolicy(
                    credential, "https://management.azure.com/.default"
                ),
            ],
        )

    def call(
        self, method: str, path: str, version: str, body: object = None
    ) -> PipelineResponse[HttpRequest, HttpResponse]:
        request = HttpRequest(
            method, self._arm_url + path, params={"api-version": version}, json=body
        )
        answer = cast(
            "PipelineResponse[HttpRequest, HttpResponse]",
            self.pipeline.send_request(request, _return_pipeline_response=True),
        )
        map_error(
            answer.http_response.status_code, answer.http_response, {404: ResourceNotFoundError}
        )
        answer.http_response.raise_for_status()
        return answer

    def document(self, method: str, path: str, version: str, body: object = None) -> JsonObject:
        return as_object(self.call(method, path, version, body).http_response.json())

    def run(self, method: str, path: str, version: str) -> None:
        """A long-running operation, to its end."""
        started = self.call(method, path, version)

        def nothing(_: object) -> None: ...

        LROPoller[None](self.pipeline, started, nothing, ARMPolling()).result()


def test_the_official_pipeline_approves_and_refreshes_and_follows_operations(
    sdk_environment: Azure, kubernetes: Kubernetes
) -> None:
    network, dashboard = "2026-03-01", "2025-08-01"
    deploy(kubernetes)
    sdk_environment.make_endpoint()
    with DefaultAzureCredential() as credential:
        official = OfficialClient(sdk_environment.server.arm_url, credential)
        with official.pipeline:
            service = official.document("GET", PLS, network)
            (connection,) = as_objects(dig(service, "properties", "privateEndpointConnections"))
            state = as_object(dig(connection, "properties", "privateLinkServiceConnectionState"))
            state["status"] = "Approved"
            answer = official.document("PUT", as_text(connection["id"]), network, connection)
            assert dig(answer, "properties", "provisioningState") == "Updating"
            official.run("POST", f"{GRAFANA}/refreshManagedPrivateEndpoints", dashboard)
            found = official.document("GET", ENDPOINT, dashboard)
            assert as_text(dig(found, *ADDRESS))
            official.run("DELETE", ENDPOINT, dashboard)
            with pytest.raises(ResourceNotFoundError):
                official.call("GET", ENDPOINT, dashboard)


def test_in_a_locked_node_group_even_an_owner_cannot_approve(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    deploy(kubernetes)
    azure.make_endpoint()
    cluster = azure.get(CLUSTER)
    properties = {
        key: item
        for key, item in as_body(cluster).items()
        if key in ("dnsPrefix", "kubernetesVersion", "azureMonitorProfile", "nodeResourceGroup")
    }
    properties["nodeResourceGroupProfile"] = {"restrictionLevel": "ReadOnly"}
    azure.put(
        CLUSTER,
        {
            "location": "westeurope",
            "identity": {"type": "SystemAssigned"},
            "properties": properties,
        },
    )
    refused = azure.decide("Approved")
    assert azure.error(refused) == (403, "DenyAssignmentAuthorizationFailed")
    assert azure.call("GET", PLS).status_code == 200


def as_body(resource: dict[str, object]) -> dict[str, object]:
    found = resource["properties"]
    assert isinstance(found, dict)
    return dict(found)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
