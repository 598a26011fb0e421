"""Rules on what the Pyroscope server would read, by whatever way a chart value leads to it.

The server's configuration is the chart's ``config`` (a text), with ``structuredConfig`` merged over
it; a flag in ``extraArgs`` beats both, and ``tenantOverrides`` are limits of one tenant. The rules
are on the keys of the configuration; :data:`_FLAGS` leads the flags to them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from contract.agent import PYROSCOPE_PORT
from infra.settings.nearest import nearest
from infra.settings.published_values import Server, Tree
from infra.settings.section import RuleViolation, as_mapping

RETENTION = "compactor_blocks_retention_period"
_MODE = "leave it out: `mode` decides"
_LISTENS = f"leave it out: the agent sends plain HTTP/2 to `/` on port {PYROSCOPE_PORT}"
_ON_THE_VOLUME = "leave it out: profiles are kept on the volume that `storage` decides about"
_OWNED = {
    "target": _MODE,
    "ingester.lifecycler.ring.replication_factor": _MODE,
    "store_gateway.sharding_ring.replication_factor": _MODE,
    "memberlist.cluster_label": _MODE,
    "storage": "set it in gpuobs:pyroscope: `storage`",
    "pyroscopedb.data_path": _ON_THE_VOLUME,
    "self_profiling.disable_push": "leave it out: the server's own profiles would mix with those "
    "of the GPUs",
    "api.base-url": _LISTENS,
    "server.http_listen_address": _LISTENS,
    "server.http_listen_port": _LISTENS,
    "server.http_path_prefix": _LISTENS,
    "server.http_tls_config": _LISTENS,
    "server.proxy_protocol_enabled": _LISTENS,
}
"""Keys of the configuration that the product decides, each with what to do instead."""
_FLAGS = {
    "target": "target",
    "distributor.replication-factor": "ingester.lifecycler.ring.replication_factor",
    "store-gateway.sharding-ring.replication-factor": "store_gateway.sharding_ring."
    "replication_factor",
    "memberlist.cluster-label": "memberlist.cluster_label",
    "storage.": "storage",
    "pyroscopedb.data-path": "pyroscopedb.data_path",
    "self-profiling.disable-push": "self_profiling.disable_push",
    "api.base-url": "api.base-url",
    "server.http-listen-address": "server.http_listen_address",
    "server.http-listen-port": "server.http_listen_port",
    "server.path-prefix": "server.http_path_prefix",
    "server.http-tls-": "server.http_tls_config",
    "server.proxy-protocol-enabled": "server.proxy_protocol_enabled",
    "auth.multitenancy-enabled": "multitenancy_enabled",
    "compactor.blocks-retention-period": f"limits.{RETENTION}",
    "config.file": "config.file",
}
"""Flags (with a dot or a hyphen at the end: all that begin so) that set a key with a rule."""
_VARIABLES = ("PYROSCOPE_V2", "PYROSCOPE_V2_EXPERIMENT")
"""With either the server stores in another way, and wants flags that the chart does not pass."""
_FREE_DISK = ("pyroscopedb.min_free_disk_gb", "pyroscopedb.retention-policy-min-free-disk-gb")
_BLOCK_DURATION = ("pyroscopedb.max_block_duration", "pyroscopedb.max-block-duration")
"""A key of the configuration, and the flag that sets it."""


@dataclass(frozen=True)
class _Key:
    """A key of the configuration that a stack file sets."""

    at: str
    """Where, as a path of ``values``."""
    key: str
    """Dotted."""
    value: object


def broken_configuration(
    pyroscope: Mapping[str, object], server: Server | None
) -> Iterator[RuleViolation]:
    """The rules that the chart's ``pyroscope`` values break; paths start with ``values``."""
    text = pyroscope.get("config")
    if text is not None:
        yield from _text(text, server)
    structured = as_mapping(pyroscope.get("structuredConfig")) or {}
    yield from _configuration(structured, "values.pyroscope.structuredConfig", server)
    yield from _flags(as_mapping(pyroscope.get("extraArgs")) or {}, server)
    yield from _variables(pyroscope)
    yield from _overrides(as_mapping(pyroscope.get("tenantOverrides")) or {}, server)


def lowers_free_disk(pyroscope: Mapping[str, object]) -> bool:
    """Whether the rule on free disk space is another than the server's own, by whatever way."""
    return _sets(pyroscope, *_FREE_DISK)


def sets_block_duration(pyroscope: Mapping[str, object]) -> bool:
    """Whether it is said how long a block is, by whatever way."""
    return _sets(pyroscope, *_BLOCK_DURATION)


def _sets(pyroscope: Mapping[str, object], wanted: str, flag: str) -> bool:
    arguments = as_mapping(pyroscope.get("extraArgs")) or {}
    if any(name.lstrip("-") == flag for name in arguments):
        return True
    given = (_parsed(pyroscope.get("config")), as_mapping(pyroscope.get("structuredConfig")))
    return any(key == wanted for one in given for key, _ in _paths(one or {}))


def _parsed(text: object) -> dict[str, object] | None:
    """The configuration that is a text; None where it is none, or is made by a template."""
    if not isinstance(text, str) or "{{" in text:
        return None
    import yaml  # nearly no stack file has such a text

    try:
        found: object = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    return {} if found is None else as_mapping(found)


def _text(text: object, server: Server | None) -> Iterator[RuleViolation]:
    at = "values.pyroscope.config"
    configuration = _parsed(text)
    if configuration is None:
        yield RuleViolation(
            fields=(at,),
            rule="a text that is a YAML mapping, without a template ({{ }})",
            why="what the server would read cannot be checked, and it stops at a key that it does "
            "not know.",
            fix="write it as `structuredConfig`, key by key",
        )
        return
    yield from _configuration(configuration, at, server)


def _configuration(
    configuration: Mapping[str, object], at: str, server: Server | None
) -> Iterator[RuleViolation]:
    for key, value in _paths(configuration):
        yield from _ruled(_Key(f"{at}.{key}", key, value))
    if server is not None:
        yield from _unknown(configuration, server.configuration, at, server)


def _paths(configuration: Mapping[str, object], under: str = "") -> Iterator[tuple[str, object]]:
    """Every key at every depth, dotted, with its value."""
    for name, value in configuration.items():
        yield f"{under}{name}", value
        yield from _paths(as_mapping(value) or {}, f"{under}{name}.")


def _ruled(key: _Key) -> Iterator[RuleViolation]:
    """What is wrong with one key that the server would read."""
    if (fix := _OWNED.get(key.key)) is not None:
        yield RuleViolation(
            fields=(key.at,),
            rule="this configuration of the server is the product's own",
            why="the agent, the private link and the data source rely on it.",
            fix=fix,
        )
    elif key.key == "multitenancy_enabled" and key.value not in (None, False, "false"):
        yield RuleViolation(
            fields=(key.at,),
            value=key.value,
            rule="must be false",
            why="the agent sends no tenant, so the server would refuse every profile.",
            fix="leave it out",
        )
    elif key.key == f"limits.{RETENTION}" and key.value not in (0, "0", "0s", None):
        yield RuleViolation(
            fields=(key.at,),
            value=key.value,
            rule="retention goes with the storage",
            why="only the compactor deletes by age, and it works on what `storage` sets up: on "
            "what is kept in the pod nothing would be deleted.",
            fix="set it in gpuobs:pyroscope: `storage: { blob: {}, retention: 30d }`",
        )
    elif key.key == "config.file":
        yield RuleViolation(
            fields=(key.at,),
            rule="this argument is the product's own",
            why="the server would read another configuration than the chart's.",
            fix="write `structuredConfig`",
        )


def _unknown(
    configuration: Mapping[str, object], known: Tree, at: str, server: Server
) -> Iterator[RuleViolation]:
    limits_or_top = (server.configuration, server.configuration.get("limits"))
    hidden = frozenset[str]() if known in limits_or_top else server.hidden
    for name, value in configuration.items():
        if name not in known and name not in hidden:
            yield _stops(f"{at}.{name}", name, known, f"a configuration key of {_named(server)}")
        elif (below := known.get(name)) and (mapping := as_mapping(value)) is not None:
            yield from _unknown(mapping, below, f"{at}.{name}", server)


def _stops(at: str, name: str, known: Iterable[str], rule: str) -> RuleViolation:
    found = nearest(name, known)
    fix = f"did you mean `{found[0]}`?" if found else "leave it out"
    if "retention" in name:
        fix = f"leave it out: the server's only such key is `limits.{RETENTION}`"
    return RuleViolation(
        fields=(at,),
        rule=rule,
        why="the server stops at one that it does not know, and restarts endlessly.",
        fix=fix,
    )


def _named(server: Server) -> str:
    return f"Pyroscope {server.version}"


def _flags(arguments: Mapping[str, object], server: Server | None) -> Iterator[RuleViolation]:
    for name, value in arguments.items():
        at = f"values.pyroscope.extraArgs.{name}"
        # A hyphen more is the same flag to the server, and a value in the key the flag's.
        flag, equals, rest = name.lstrip("-").partition("=")
        if server is not None and flag not in server.flags:
            yield _stops(at, flag, server.flags, f"a flag of {_named(server)}, without hyphens")
        for known, key in _FLAGS.items():
            if flag == known or (known.endswith((".", "-")) and flag.startswith(known)):
                yield from _ruled(_Key(at, key, rest if equals else value))


def _variables(pyroscope: Mapping[str, object]) -> Iterator[RuleViolation]:
    given = {
        f"extraEnvVars.{name}": name for name in as_mapping(pyroscope.get("extraEnvVars")) or {}
    }
    custom = pyroscope.get("extraCustomEnvVars")
    for number, one in enumerate(cast("list[object]", custom) if isinstance(custom, list) else ()):
        given[f"extraCustomEnvVars[{number}]"] = str((as_mapping(one) or {}).get("name"))
    for at, name in given.items():
        if name in _VARIABLES:
            yield RuleViolation(
                fields=(f"values.pyroscope.{at}",),
                rule="not this variable",
                why="the server would store profiles in another way, and stop for want of flags "
                "that the chart does not pass.",
                fix="leave it out",
            )


def _overrides(tenants: Mapping[str, object], server: Server | None) -> Iterator[RuleViolation]:
    for tenant, limits in tenants.items():
        at = f"values.pyroscope.tenantOverrides.{tenant}"
        given = as_mapping(limits) or {}
        for name, value in given.items():
            yield from _ruled(_Key(f"{at}.{name}", f"limits.{name}", value))
        known = server.configuration.get("limits") if server is not None else None
        if server is not None and known is not None:
            yield from _unknown(given, known, at, server)
