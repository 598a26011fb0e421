"""How far back a Pyroscope looks, from what it says of its own configuration.

``limits.max_query_lookback`` cuts a query silently: what is older is left out without a word. The
server shows its limits at ``/api/v1/status/config`` and what its overrides say of a tenant at
``/runtime_config``, both as YAML (``pkg/phlare/modules.go`` of the servers 1.15 to 1.19). Without
multitenancy every query is of the tenant ``anonymous``.
"""

import re
from datetime import timedelta
from typing import Final

from contract.json import as_object, is_object

CONFIGURATION: Final = "/api/v1/status/config"
OVERRIDES: Final = "/runtime_config"
_TENANT: Final = "anonymous"
_PART: Final = re.compile(r"(\d+)(ms|[smhdwy])")
_SECONDS: Final = {
    "ms": 0.001,
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86400,
    "w": 604_800,
    "y": 31_536_000,
}


def look_back(configuration: bytes, overrides: bytes) -> timedelta | None:
    """How far back the server looks; 0: without a limit. None: these do not say it."""
    tenants = as_object(_yaml(overrides).get("overrides"))
    for limits in (tenants.get(_TENANT), _yaml(configuration).get("limits")):
        said = as_object(limits).get("max_query_lookback") if is_object(limits) else None
        if said is not None:
            return _duration(str(said))
    return None


def _duration(text: str) -> timedelta | None:
    """Of Prometheus' form, e.g. ``1w`` or ``1d12h``."""
    parts = _PART.findall(text)
    if text != "0" and "".join(map("".join, parts)) != text:
        return None
    return timedelta(seconds=sum(int(count) * _SECONDS[unit] for count, unit in parts))


def _yaml(document: bytes) -> dict[str, object]:
    import yaml  # only for windows from before what a server looks back to as it comes

    try:
        return as_object(yaml.safe_load(document))
    except yaml.YAMLError:
        return {}
