"""Helm's own records of its releases, read from the Secrets in which Helm keeps them.

A release is one Secret a revision, ``sh.helm.release.v1.<name>.v<revision>``, whose data is gzipped
JSON (helm.sh/helm/v3, ``pkg/storage/driver``). The answer has the shape of the simulated API
server's releases (:mod:`simulator.kubernetes.api`).
"""

import base64
import gzip
import json
from collections.abc import Iterable
from functools import lru_cache

import yaml

from simulator.values import JsonObject, as_integer, as_object, as_text, dig, is_object

SECRET_TYPE = "helm.sh/release.v1"  # noqa: S105 - the type of a Secret


def is_record(manifest: JsonObject) -> bool:
    """Whether the object is a Secret that Helm keeps a release in."""
    return manifest.get("kind") == "Secret" and manifest.get("type") == SECRET_TYPE


def releases(manifests: Iterable[JsonObject]) -> dict[str, JsonObject]:
    """The newest revision of each release by ``<namespace>/<name>``."""
    found: dict[str, JsonObject] = {}
    for manifest in manifests:
        if not is_record(manifest):
            continue
        release = _decoded(as_text(dig(manifest, "data", "release")))
        key = f"{as_text(release.get('namespace'))}/{as_text(release.get('name'))}"
        newest = found.get(key)
        if newest is None or as_integer(newest.get("revision")) < as_integer(
            release.get("revision")
        ):
            found[key] = dict(release)
    return found


@lru_cache(maxsize=64)
def _decoded(data: str) -> JsonObject:
    record = as_object(json.loads(gzip.decompress(base64.b64decode(base64.b64decode(data)))))
    namespace = as_text(record.get("namespace"))
    status = as_text(dig(record, "info", "status"))
    return {
        "namespace": namespace,
        "name": as_text(record.get("name")),
        "chart": as_text(dig(record, "chart", "metadata", "name")),
        "version": as_text(dig(record, "chart", "metadata", "version")),
        "appVersion": as_text(dig(record, "chart", "metadata", "appVersion")),
        "values": as_object(record.get("config")),
        "revision": as_integer(record.get("version")),
        "status": status,
        "message": "" if status == "deployed" else as_text(dig(record, "info", "description")),
        "resources": _resources(as_text(record.get("manifest")), namespace),
    }


def _resources(manifest: str, namespace: str) -> list[object]:
    """The keys of the objects in a rendered chart."""
    return [
        "/".join(
            (
                as_text(document.get("apiVersion")),
                as_text(document.get("kind")),
                as_text(dig(document, "metadata", "namespace"), namespace),
                as_text(dig(document, "metadata", "name")),
            )
        )
        for document in yaml.safe_load_all(manifest)
        if is_object(document)
    ]
