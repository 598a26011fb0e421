"""The kubeconfig of an AKS cluster, usable where only this project is installed.

The credentials of a cluster with Microsoft Entra call ``kubelogin``, which is not on every machine.
The operation ``kube-token`` answers the same question through the same credential chain as
everything else here, each time it is asked: no token is ever stored. Pure; nothing is read or
called.
"""

import base64
import json
from collections.abc import Mapping
from contextlib import suppress

from contract.json import as_list, as_object, as_text
from contract.messages.base import LAUNCHER, Verb

_TENANT = "--tenant-id"
"""Of kubelogin, and of our operation."""


def portable(encoded: str) -> str:
    """The kubeconfig in ``encoded`` (base64 of YAML), with our operation in place of kubelogin.

    Credentials that need no program (certificates) are left as they are. Raises ValueError, which
    repeats none of it, for something else than a kubeconfig.
    """
    import yaml  # in use only where a kubeconfig is known: a preview of a new cluster has none

    text, config = "", as_object(None)
    with suppress(ValueError, yaml.YAMLError):
        text = base64.b64decode(encoded).decode()
        config = as_object(yaml.safe_load(text))
    if not as_list(config.get("users")):
        raise ValueError("what Azure answered is no kubeconfig")
    users = [as_object(user) for user in as_list(config.get("users"))]
    if not any("exec" in as_object(user.get("user")) for user in users):
        return text
    return json.dumps({**config, "users": [_with_own_program(user) for user in users]})


def _with_own_program(user: Mapping[str, object]) -> Mapping[str, object]:
    settings = as_object(user.get("user"))
    if "exec" not in settings:
        return user
    shell, *launcher = LAUNCHER.split()
    given = [as_text(argument) for argument in as_list(as_object(settings["exec"]).get("args"))]
    # Of the tenant of the cluster, which is not every account's default one.
    tenant = given[given.index(_TENANT) : given.index(_TENANT) + 2] if _TENANT in given else []
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": shell,
        "args": [*launcher, Verb.KUBE_TOKEN.value, *tenant],
        "interactiveMode": "Never",
        "provideClusterInfo": False,
    }
    return {**user, "user": {**settings, "exec": program}}
