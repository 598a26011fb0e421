"""What people do by hand in the simulated Azure while a stack is deployed there.

The portal, ``az``, ``kubectl`` and Grafana's pages in one: the same calls, made by a person instead
of the program. :class:`tests.simulator.azure.Azure` has the ARM ones.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager

import httpx

from simulator.seed import SUBSCRIPTION_ID
from simulator.testing import Running
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.simulation import Simulation
from tests.simulator.azure import CLUSTER, Azure

DATA_SOURCE = "/api/datasources/uid/"
DASHBOARD = "/api/dashboards/uid/"


class Portal(Azure):
    """The stacks' Azure, seen by a person with every right."""

    def source(self, uid: str) -> JsonObject:
        """The data source; empty where there is none."""
        answer = self.grafana("GET", DATA_SOURCE + uid)
        return as_object(answer.json()) if answer.status_code == 200 else {}

    def edit_source(self, uid: str, **changes: object) -> None:
        """Save the data source with other fields, as its page does."""
        edited = {**self.source(uid), **changes}
        edited.pop("version", None)
        answer = self.grafana("PUT", DATA_SOURCE + uid, edited)
        assert answer.status_code == 200, answer.text

    def dashboard(self, uid: str) -> JsonObject:
        """The dashboard without its envelope; empty where there is none."""
        answer = self.grafana("GET", DASHBOARD + uid)
        return as_object(answer.json()["dashboard"]) if answer.status_code == 200 else {}

    def edit_dashboard(self, uid: str, **changes: object) -> None:
        """Save the dashboard with other fields, where it is."""
        found = as_object(self.grafana("GET", DASHBOARD + uid).json())
        body = {
            "dashboard": {**as_object(found["dashboard"]), **changes},
            "folderUid": dig(found, "meta", "folderUid"),
            "overwrite": True,
        }
        answer = self.grafana("POST", "/api/dashboards/db", body)
        assert answer.status_code == 200, answer.text

    def folders(self) -> list[JsonObject]:
        """The folders of Grafana."""
        return as_objects(self.grafana("GET", "/api/folders").json())

    def delete_in_grafana(self, path: str) -> None:
        """Delete a data source, dashboard or folder."""
        answer = self.grafana("DELETE", path)
        assert answer.status_code == 200, answer.text

    def health(self, uid: str) -> httpx.Response:
        """What `Save & test` of a data source says."""
        return self.grafana("GET", f"{DATA_SOURCE}{uid}/health")

    def find(self, ending: str) -> str:
        """The id of the one ARM resource whose id ends so; compared without case."""
        found = [
            key
            for key in as_object(self.inspect()["resources"])
            if key.lower().endswith(ending.lower())
        ]
        assert len(found) == 1, f"{ending}: {found}"
        return found[0]

    def kind(self, type_: str) -> list[str]:
        """The ids of the ARM resources of a type, e.g. ``managedPrivateEndpoints``."""
        return [
            key
            for key in as_object(self.inspect()["resources"])
            if key.lower().split("/")[-2] == type_.lower()
        ]

    def let_pods_sign_in(self, cluster: str = CLUSTER) -> None:
        """Turn the OIDC issuer and workload identity of a cluster on."""
        found = self.get(cluster)
        on = {
            "oidcIssuerProfile": {"enabled": True},
            "securityProfile": {"workloadIdentity": {"enabled": True}},
        }
        self.put(cluster, {**found, "properties": {**as_object(found["properties"]), **on}})

    def profiled_in_hour(self, until: int | None = None, cluster: str = "aks-dev") -> int:
        """The bytes that Pyroscope shows of the hour before ``until``, in milliseconds, or now."""
        end = int(time.time() * 1000) if until is None else until
        return self.profiled_bytes(cluster, end - 3_600_000, end)

    def private_link(self, cluster: str = "aks-dev") -> str:
        """The id of a cluster's Private Link Service."""
        found = [key for key in self.kind("privateLinkServices") if f"_{cluster}_" in key]
        assert len(found) == 1, found
        return found[0]

    def connection(self) -> JsonObject:
        """The one connection of the Private Link Service."""
        properties = as_object(self.get(self.private_link())["properties"])
        (connection,) = as_objects(properties["privateEndpointConnections"])
        return connection

    def connection_id(self) -> str:
        """Its id."""
        return as_text(self.connection()["id"])

    def reject(self) -> None:
        """Reject the connection of the Private Link Service."""
        state = {"status": "Rejected", "description": "not in my network"}
        path = self.connection_id()
        answer = self.call(
            "PUT", path, {"properties": {"privateLinkServiceConnectionState": state}}
        )
        assert answer.status_code == 200, answer.text
        self.settled(path)


@contextmanager
def portal_of(sim: Simulation) -> Generator[Portal]:
    """A person's way into the Azure of ``sim``."""
    environment = sim.azure.environment
    server = Running(
        home=sim.home.azure,
        arm_url=environment["SIM_ARM_URL"],
        identity_url=environment["IDENTITY_ENDPOINT"],
        ca_file=environment["SIM_CA_FILE"],
        pid=0,
        environment=environment,
    )
    with Portal(server) as portal:
        yield portal


def deploy_and_delete_the_cluster(sim: Simulation, person: Portal) -> None:
    """Deploy stack ``prod``, like ``dev`` on a cluster of its own, and delete that cluster."""
    cluster = {"name": "aks-prod", "resourceGroup": "rg-prod"}
    sim.stack_file("prod", {"cluster.existing": cluster}, like="dev")
    sim.stack_file("prod", {"grafana.dataSources": None, "grafana.dashboard": None})
    sim.up("prod")
    # Azure deletes no cluster whose private link something is connected to.
    (endpoint,) = [one for one in person.kind("managedPrivateEndpoints") if "/p-prod-" in one]
    person.delete(endpoint)
    person.delete(person.find("/managedClusters/aks-prod"))


def resource_group(name: str) -> str:
    """The id of a resource group in the simulated subscription."""
    return f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups/{name}"
