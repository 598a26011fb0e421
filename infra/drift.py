"""What somebody has changed by hand in the cluster where the engine does not look, in words."""

from collections.abc import Iterator

from pydantic import ValidationError

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.messages.namespace import KeptNamespace, NamespaceRequest
from contract.messages.release import DriftedObject
from contract.messages.survey import InsideFacts, InstalledExtension
from contract.microservices import ServerMode, service_name
from infra.deployed import Deployed, Own
from infra.settings import StorageSettings

_SERVICES = {
    f"/api/v1/namespaces/{NAMESPACE}/services/{service_name(PYROSCOPE_SERVICE, mode)}"
    for mode in ServerMode
}
"""Those with a private link: that of one server, or the query front end's."""


def kept_namespace(own: Deployed) -> NamespaceRequest | None:
    """How the stack has marked and protected the agent's namespace; None where it could not."""
    command = own.outputs_of(Own.NAMESPACE_PROTECTION)
    try:
        if not KeptNamespace.model_validate_json(command.text("stdout")).protected:
            return None
        return NamespaceRequest.model_validate_json(command.text("stdin"))
    except ValidationError:
        return None


def extension_release(installed: InstalledExtension, own: Deployed) -> str:
    """The extension's Helm release, where it is not named like the extension; empty: it is.

    Helm says so once, when it refuses the namespace; from then on the stack's state knows.
    """
    said = installed.helm_release
    if said and said != installed.name:
        return said
    kept = kept_namespace(own)
    release = (kept.release if kept is not None else None) or ""
    return "" if release == own.outputs_of(Own.EXTENSION).text("name") else release


def said_of_drift(inside: InsideFacts, storage: StorageSettings) -> Iterator[str]:
    """A sentence for each object: what differs, what ``up`` does, and what is lost by it."""
    on_disk = storage.planned_disk is not None
    for one in inside.drifted:
        yield f"{_what(one)} {_remedy(one, on_disk=on_disk)}"
    if inside.unkept:
        yield (
            f"The namespace {NAMESPACE} has lost the mark for the extension or its protection, "
            "which this stack gave it: `pulumi up` gives them back."
        )
    if inside.drift_problem:
        yield (
            f"Whether somebody has changed the objects of the release {PYROSCOPE_SERVICE} could "
            f"not be seen, and nothing is put back: {inside.drift_problem}"
        )


def _what(one: DriftedObject) -> str:
    if not one.fields:
        return f"{one.name} was deleted by hand."
    further = f" and {one.further} more" if one.further else ""
    return f"{one.name} was changed by hand: {', '.join(one.fields)}{further}."


def _remedy(one: DriftedObject, *, on_disk: bool) -> str:
    if one.path in _SERVICES and not one.fields:
        return (
            "`pulumi up` makes it again; with it went its Private Link Service and Grafana's "
            "connection, which are made again too."
        )
    if not one.fields:
        return "`pulumi up` makes it again."
    if not one.restarts:
        return "`pulumi up` puts it back; the server is not restarted for it."
    lost = (
        "it writes its profiles to the disk first"
        if on_disk
        else "the profiles in its pod are lost, as there is no disk"
    )
    return f"`pulumi up` puts it back, which restarts the server: {lost}."
