"""How each resource provider lets a client follow a long-running operation.

Terminal states are Succeeded, Failed and Canceled; a failed operation reads HTTP 200. Polls carry
``x-ms-retry-after-ms``, which Azure does not send: it makes unchanged SDK clients, whose default
is 30 seconds of wall time, keep the simulator's pace.
"""

from dataclasses import dataclass

from simulator.clock import timestamp
from simulator.http import NULL_BODY, Response
from simulator.values import JsonObject
from simulator.world import Operation, World

POLL_SECONDS = 10
"""Simulated seconds between two polls of an SDK client."""


@dataclass(frozen=True)
class LongRunningOperation:
    """The form of one provider."""

    name: str

    def headers(
        self, world: World, operation: Operation, resource_id: str, location: str, version: str
    ) -> dict[str, str]:
        """The headers of the first answer."""
        subscription = resource_id.split("/")[2]
        regional = f"/subscriptions/{subscription}/providers/{{}}/locations/{location}"
        base = world.arm_url
        deleting = operation.kind in ("delete", "disconnect")
        match self.name:
            case "dashboard":
                place = f"/providers/Microsoft.Dashboard/locations/{location.upper()}"
                url = (
                    f"{base}{place}/operationStatuses/{operation.id}*"
                    f"{operation.id.replace('-', '').upper() * 2}?api-version={version}"
                )
                return {"Azure-AsyncOperation": url, "Location": url}
            case "extension":
                url = f"{base}{resource_id}/operations/{operation.id}?api-version={version}"
                return {"Azure-AsyncOperation": url}
            case "container-service":
                place = base + regional.format("Microsoft.ContainerService")
                query = "api-version=2016-03-30"
                headers = {
                    "Azure-AsyncOperation": f"{place}/operations/{operation.id}?{query}",
                }
                if deleting:
                    headers["Location"] = f"{place}/operationresults/{operation.id}?{query}"
                return headers
            case "network":
                place = base + regional.format("Microsoft.Network")
                query = f"api-version={version}"
                headers = {"Azure-AsyncOperation": f"{place}/operations/{operation.id}?{query}"}
                if deleting:
                    headers["Location"] = f"{place}/operationResults/{operation.id}?{query}"
                return headers
            case "monitor":
                place = base + regional.format("Microsoft.Monitor")
                query = f"api-version={version}"
                return {"Location": f"{place}/operationResults/{operation.id}?{query}"}
            case "storage":
                place = base + regional.format("Microsoft.Storage")
                query = f"monitor=true&api-version={version}"
                return {"Location": f"{place}/asyncoperations/{operation.id}?{query}"}
            case _:
                url = f"{base}/subscriptions/{subscription}/operationresults/{operation.id}"
                return {"Location": f"{url}?api-version={version}"}

    def poll(self, world: World, operation: Operation, path: str) -> Response:
        """The answer to a poll of one of the URLs in :meth:`headers`."""
        pace = max(1, int(world.clock.factor * POLL_SECONDS * 1000))
        headers = {"x-ms-retry-after-ms": str(pace)}
        if "operationresults" in path.lower() or self.name == "storage":
            if operation.running:
                return Response(202, None, {**headers, "Location": f"{world.arm_url}{path}"})
            if operation.error:
                return Response(400, {"error": operation.error})
            made = world.get(operation.target) if self.name == "storage" else None
            if made is not None:
                return Response(200, {"id": made.id, "name": made.name, **made.body})
            return Response(204)
        if (
            self.name == "dashboard"
            and operation.running
            and operation.kind in ("delete", "refresh")
        ):
            return Response(202, self._document(operation), headers)
        return Response(200, self._document(operation), headers)

    def _document(self, operation: Operation) -> JsonObject:
        status = self._status(operation)
        if self.name == "network":
            document: JsonObject = {"status": status}
            if operation.error:
                document["error"] = operation.error
            return document
        document = {"name": operation.id, "status": status, "startTime": _at(operation, "began")}
        if not operation.running:
            document["endTime"] = timestamp()
        if operation.error:
            document["error"] = operation.error
        if self.name == "dashboard":
            document["id"] = operation.details.get("statusId", f"/providers/{operation.id}")
            document["resourceId"] = operation.details.get("resourceId")
            if not operation.running:
                document.setdefault("error", {})
                document["properties"] = None
        if self.name == "extension":
            document["id"] = f"{operation.details.get('resourceId')}/operations/{operation.id}"
            document["properties"] = None
            document.setdefault("error", None)
        return document

    def _status(self, operation: Operation) -> str:
        if not operation.running:
            return operation.status
        if self.name == "dashboard":
            if operation.kind == "delete":
                return "Deleting"
            return "Accepted" if operation.kind == "create" else "Updating"
        if self.name == "extension":
            return {"create": "Creating", "delete": "Deleting"}.get(operation.kind, "Updating")
        return "InProgress"


DASHBOARD = LongRunningOperation("dashboard")
EXTENSION = LongRunningOperation("extension")
CONTAINER_SERVICE = LongRunningOperation("container-service")
NETWORK = LongRunningOperation("network")
MONITOR = LongRunningOperation("monitor")
STORAGE = LongRunningOperation("storage")
RESOURCES = LongRunningOperation("resources")


def accepted(headers: dict[str, str]) -> Response:
    """202 with the body null, as Grafana answers."""
    return Response(202, NULL_BODY, headers)


def _at(operation: Operation, key: str) -> object:
    return operation.details.get(key) or timestamp()
