"""Sections of stack files for tests, and what is wrong with them."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

import yaml

from infra.faults import ConfigurationError, Fault
from infra.settings import NAMESPACE, Settings, load

ROOT = Path(__file__).resolve().parents[2]

EXISTING: dict[str, object] = {
    "cluster": {"existing": {"name": "aks-dev", "resourceGroup": "rg-dev"}},
    "grafana": {"existing": {"name": "grafana-dev", "resourceGroup": "rg-dev"}},
}
"""The least that a stack needs."""

CREATED: dict[str, object] = {
    "azure": {"location": "westeurope", "resourceGroup": {"name": "rg", "create": True}},
    "cluster": {"create": {}},
    "grafana": {"create": {}},
}
"""The least for a stack that makes everything."""


def stack(
    sections: Mapping[str, object], base: Mapping[str, object] = EXISTING
) -> dict[str, object]:
    """``base`` with the keys of ``sections`` added to, or put into, its sections."""
    result: dict[str, object] = dict(base)
    for name, section in sections.items():
        below = result.get(name)
        if isinstance(below, dict) and isinstance(section, dict):
            result[name] = {
                **cast("dict[str, object]", below),
                **cast("dict[str, object]", section),
            }
        else:
            result[name] = section
    return result


def settings(base: Mapping[str, object] = EXISTING, **sections: object) -> Settings:
    """Settings that have no fault."""
    return load(stack(sections, base))


def error(
    sections: Mapping[str, object], secret_sections: Collection[str] = ()
) -> ConfigurationError | None:
    """What ``load`` says against ``sections``."""
    try:
        load(sections, secret_sections)
    except ConfigurationError as problem:
        return problem
    return None


def faults(base: Mapping[str, object] = EXISTING, **sections: object) -> dict[str, Fault]:
    """The faults of a stack by their path, without the namespace."""
    problem = error(stack(sections, base))
    found = problem.faults if problem is not None else ()
    return {fault.path.removeprefix(f"{NAMESPACE}:"): fault for fault in found}


def read(name: str) -> dict[str, object]:
    """The sections of a stack file of this project."""
    document = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    configuration = cast("dict[str, object]", document["config"])
    return {key.removeprefix(f"{NAMESPACE}:"): value for key, value in configuration.items()}
