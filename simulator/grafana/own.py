"""A Grafana that somebody runs themselves, in a cluster: nothing of it is Azure's.

It answers at ``/grafana/<name>`` like a workspace, to tokens of its own service accounts only, and
reaches what its cluster's Services lead to. What it is made of stands in the world's settings, and
is made with the control call ``settings`` (``ownGrafanas``).
"""

from simulator.grafana.data_sources import AZURE_PROMETHEUS, PROMETHEUS, PYROSCOPE
from simulator.values import JsonObject, as_object, as_text, text_map, texts
from simulator.world import GrafanaState, Resource, World

PREFIX = "own/"
"""What the keys of such Grafanas begin with, where a workspace has its ARM id."""
TYPE = "grafana"
PLUGINS = (PYROSCOPE, PROMETHEUS, AZURE_PROMETHEUS)
"""What a Grafana 12 comes with, besides what is installed."""


def make(world: World, name: str, document: JsonObject) -> None:
    """Make the Grafana ``name``, or change what it is; its content stays.

    ``document``: ``cluster`` (name of the one it runs in), ``version``, ``tokens`` (``{token:
    role}``, each of a service account), ``plugins`` (default: :data:`PLUGINS`), ``principalId`` (of
    the identity with which it signs in to Azure, if it does).
    """
    key = f"{PREFIX}{name}".lower()
    state = world.grafanas.setdefault(key, GrafanaState())
    state.other["own"] = {
        "cluster": as_text(document.get("cluster")),
        "version": as_text(document.get("version"), "12.4.1"),
        "plugins": texts(document.get("plugins", list(PLUGINS))),
        "principalId": as_text(document.get("principalId")),
    }
    state.other["serviceAccounts"] = {
        str(number): {
            "id": number,
            "uid": f"account{number}",
            "name": f"account {number}",
            "login": f"sa-1-account-{number}",
            "role": role,
            "isDisabled": False,
            "createdAt": "2026-11-01T00:00:00Z",
            "tokens": [{"id": number, "name": "token", "key": token, "created": ""}],
        }
        for number, (token, role) in enumerate(text_map(document.get("tokens")).items(), 1)
    }


def resource(key: str, state: GrafanaState) -> Resource | None:
    """What stands for its ARM resource where the handlers ask for one; None for a workspace's."""
    if not key.startswith(PREFIX):
        return None
    own = as_object(state.other.get("own"))
    version = as_text(own.get("version"))
    body: JsonObject = {
        "identity": {"principalId": own.get("principalId")},
        "properties": {
            "grafanaMajorVersion": version.partition(".")[0],
            "grafanaVersion": version,
            "apiKey": "Enabled",
            "publicNetworkAccess": "Enabled",
        },
    }
    return Resource(key, TYPE, body)


def plugins(state: GrafanaState) -> list[str]:
    """The types of data sources that are installed."""
    own = as_object(state.other.get("own"))
    return texts(own.get("plugins")) if own else list(PLUGINS)


def cluster(world: World, state: GrafanaState) -> str:
    """Id of the cluster that it runs in; empty where there is none."""
    found = world.cluster_named(as_text(as_object(state.other.get("own")).get("cluster")))
    return found[0] if found else ""
