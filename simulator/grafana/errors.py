"""How Grafana says no."""

from simulator.http import Response
from simulator.values import JsonObject


class GrafanaError(Exception):
    """A refusal: HTTP status, message and, where Grafana has one, a status word."""

    def __init__(self, status: int, message: str, word: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.word = word

    def response(self) -> Response:
        """The answer as Grafana sends it."""
        body: JsonObject = {"message": str(self)}
        if self.word:
            body["status"] = self.word
        return Response(self.status, body)


def bad_request() -> GrafanaError:
    """What a body answers that does not bind to the command of its route."""
    return GrafanaError(400, "bad request data")
