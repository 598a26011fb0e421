"""ARM's front door."""

from simulator.http import Request, Response
from simulator.values import JsonObject
from simulator.world import Resource, World


class ArmService:
    """Azure Resource Manager."""

    name = "arm"

    def __init__(self, world: World) -> None:
        self._world = world

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        return Response(404)

    def shown(self, resource: Resource) -> JsonObject:
        """What a GET answers."""
        return {"id": resource.id, **resource.body}
