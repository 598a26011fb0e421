"""Whether this machine holds a login for a chart registry.

Helm sends a stored login also for a public chart, and a registry refuses one that has expired, with
a 403 that speaks of the chart (kargo 777). Logins are found, never read: whether one is good only
the registry knows.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from contract.json import Document


def login_file(host: str, environment: Mapping[str, str] = os.environ) -> str:
    """The file with a login for ``host`` that Helm would use; empty if there is none, or no host.

    Docker's configuration (``DOCKER_CONFIG``, default ``~/.docker``) and Helm's own
    (``HELM_REGISTRY_CONFIG``), whose entries are hosts or URLs.
    """
    home = Path(environment.get("HOME", "~")).expanduser()
    docker = Path(environment.get("DOCKER_CONFIG") or home / ".docker")
    helm = environment.get("HELM_REGISTRY_CONFIG") or home / ".config/helm/registry/config.json"
    for file in (docker / "config.json", Path(helm)):
        if host and host in _hosts(file):
            return str(file)
    return ""


def _hosts(file: Path) -> set[str]:
    try:
        content = Document.parse(file.read_text(encoding="utf-8"))
    except OSError:
        return set()
    entries = [*content.child("auths").fields, *content.child("credHelpers").fields]
    return {urlsplit(entry if "//" in entry else f"//{entry}").netloc for entry in entries}
