"""The Secrets in which Helm keeps what it knows of a release: one a revision.

``sh.helm.release.v1.<name>.v<revision>``, with the revision's status as a label, and gzipped JSON
as data (helm.sh/helm/v3: pkg/storage/driver/secrets.go, util.go).
"""

import base64
import gzip
import json
from typing import Final

from simulator.kubernetes import state
from simulator.values import JsonObject, as_integer, as_object, as_text, dig
from simulator.world import ClusterState

_TYPE: Final = "helm.sh/release.v1"


def begin(objects: ClusterState, release: JsonObject) -> None:
    """Keep a record of a new revision."""
    name, revision = as_text(release.get("name")), release.get("revision")
    record: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": _TYPE,
        "metadata": {
            "name": f"sh.helm.release.v1.{name}.v{revision}",
            "namespace": release.get("namespace"),
            "labels": {"owner": "helm", "name": name, "version": str(revision)},
        },
    }
    release["record"] = state.key(record)
    _write(objects, record, release)


def settle(objects: ClusterState, release: JsonObject) -> None:
    """Write the status that the newest revision has come to; a deployed one supersedes others."""
    record = objects.objects.get(as_text(release.get("record")))
    if record is None:
        return
    _write(objects, record, release)
    if release.get("status") == "deployed":
        for other in _all(objects, release):
            if other is not record and dig(other, "metadata", "labels", "status") == "deployed":
                _write(objects, other, {**_decoded(other), "status": "superseded"})


def newest(objects: ClusterState, release: JsonObject) -> JsonObject | None:
    """What the newest record that is left says; None where there is none."""
    left = [record for record in _all(objects, release) if "data" in record]
    return _decoded(max(left, key=_revision)) if left else None


def remove(objects: ClusterState, release: JsonObject) -> None:
    """Delete every record of the release."""
    for record in _all(objects, release):
        state.remove(objects, record)


def _all(objects: ClusterState, release: JsonObject) -> list[JsonObject]:
    return [
        secret
        for secret in objects.of_kind("Secret", as_text(release.get("namespace")))
        if secret.get("type") == _TYPE
        and dig(secret, "metadata", "labels", "name") == release.get("name")
    ]


def _revision(record: JsonObject) -> int:
    return int(as_text(dig(record, "metadata", "labels", "version"), "0"))


def _write(objects: ClusterState, record: JsonObject, release: JsonObject) -> None:
    document = {
        "name": release.get("name"),
        "namespace": release.get("namespace"),
        "version": release.get("revision"),
        "info": {"status": release.get("status"), "description": release.get("message")},
        "chart": {
            "metadata": {
                "name": release.get("chart"),
                "version": release.get("version"),
                "appVersion": release.get("appVersion"),
            }
        },
        "config": release.get("values"),
        "manifest": release.get("manifest"),
        # Not Helm's: it reads the manifest.
        "resources": release.get("resources"),
    }
    # Twice: by Helm, and as every Secret's data. No time, so that equal records are equal.
    packed = gzip.compress(json.dumps(document).encode(), mtime=0)
    record["data"] = {"release": base64.b64encode(base64.b64encode(packed)).decode()}
    as_object(state.metadata(record)["labels"])["status"] = release.get("status")
    state.add(objects, record)


def _decoded(record: JsonObject) -> JsonObject:
    packed = base64.b64decode(base64.b64decode(as_text(dig(record, "data", "release"))))
    document = as_object(json.loads(gzip.decompress(packed)))
    return {
        "name": document.get("name"),
        "namespace": document.get("namespace"),
        "revision": as_integer(document.get("version")),
        "status": dig(document, "info", "status"),
        "message": dig(document, "info", "description"),
        "chart": dig(document, "chart", "metadata", "name"),
        "version": dig(document, "chart", "metadata", "version"),
        "appVersion": dig(document, "chart", "metadata", "appVersion"),
        "values": as_object(document.get("config")),
        "manifest": document.get("manifest"),
        "resources": document.get("resources"),
        "podsStarted": True,
        "record": state.key(record),
    }
