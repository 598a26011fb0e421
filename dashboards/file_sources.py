"""What a dashboard file ties to the Grafana that it came from, tied to this stack instead.

A data source's uid and a library panel exist on one Grafana only, and a profile type's id belongs
to one version of agent and server: panels that name another show nothing, without an error.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from contract.agent import measures_allocations
from contract.grafana import PROMETHEUS, PYROSCOPE
from contract.json import as_list, as_object, as_objects, is_list, is_object
from dashboards import queries

PROMETHEUS_FLAVOUR: Final = re.compile(r"grafana-[0-9a-z]+prometheus-datasource")
EXPRESSIONS: Final = "__expr__"
"""Grafana's own pseudo data source, which exists everywhere."""
_EVERYWHERE: Final = ("grafana", "default", EXPRESSIONS, "-100")
_OWN_TYPES: Final = ("datasource", "grafana", "mixed", "dashboard", EXPRESSIONS)
"""Types of Grafana's own sources."""
_VARIABLE: Final = "profile_type"


def is_prometheus(plugin: object) -> bool:
    """Whether a data source of this type answers PromQL."""
    return plugin == PROMETHEUS or (
        isinstance(plugin, str) and PROMETHEUS_FLAVOUR.fullmatch(plugin) is not None
    )


def refuse_library_panels(model: Mapping[str, object]) -> None:
    """Raise where a panel is kept elsewhere on the Grafana that the file came from."""
    for place, node in _nodes(model, "dashboard"):
        if node.get("libraryPanel"):
            raise ValueError(
                f"The dashboard file's {place} is a library panel, which lives apart from it and "
                "is not on this Grafana. Unlink it in Grafana and export the dashboard again."
            )


def with_own_sources(
    model: Mapping[str, object], pyroscope_uid: str, prometheus_uid: str | None
) -> dict[str, object]:
    """``model`` with this stack's sources wherever it names a fixed one of their types.

    Raises:
        ValueError: it names one of another type, or Prometheus where this stack has none.
    """
    own = (pyroscope_uid, prometheus_uid)

    def mapped(place: str, source: object) -> object:
        kind = as_object(source).get("type")
        reference = source if isinstance(source, str) else as_object(source).get("uid")
        if (
            not isinstance(reference, str)
            or "$" in reference
            or reference.startswith(("[[", "-- "))
            or reference in (*_EVERYWHERE, *own, "")
            or kind in _OWN_TYPES
        ):
            return source
        if kind == PYROSCOPE:
            return as_object(source) | {"uid": pyroscope_uid}
        if is_prometheus(kind) and prometheus_uid is not None:
            return as_object(source) | {"uid": prometheus_uid}
        if is_prometheus(kind):
            raise ValueError(
                f"The dashboard file's {place} needs a Prometheus data source, and this stack has "
                "none. Configure the prometheus section, or take it out of the file."
            )
        what = f"of type {kind}" if isinstance(kind, str) else "of no type"
        raise ValueError(
            f"The dashboard file's {place} uses the data source {reference} {what}, which belongs "
            f"to the Grafana that the file came from. This stack has sources of type {PROMETHEUS} "
            f"and {PYROSCOPE}: name one of those types, or choose the source by a variable."
        )

    return as_object(_mapped_sources(model, "dashboard", mapped))


def with_discovered_profile_type(model: dict[str, object]) -> dict[str, object]:
    """``model`` whose queries of GPU allocations ask for the type that is there.

    The published dashboard names the type of agents before 0.54, which later ones never write.
    """
    found = False

    def discovered(node: Mapping[str, object]) -> dict[str, object]:
        nonlocal found
        parts = str(node.get("profileTypeId", "")).split(":")
        if len(parts) != 5 or not measures_allocations(parts[1], parts[2]):
            return dict(node)
        found = True
        return {**node, "profileTypeId": queries.PROFILE_TYPE}

    changed = as_object(_mapped_objects(model, discovered))
    if not found:
        return changed
    templating = as_object(changed.get("templating"))
    variables = as_objects(templating.get("list"))
    if all(one.get("name") != _VARIABLE for one in variables):
        variables.append(_profile_type_variable(_pyroscope_source(changed)))
    return changed | {"templating": templating | {"list": variables}}


def _profile_type_variable(source: object) -> dict[str, object]:
    return {
        "type": "query",
        "name": _VARIABLE,
        "label": "Profile type",
        "datasource": source,
        "query": {"refId": _VARIABLE, "type": "profileType"},
        "regex": queries.GPU_MEMORY_PROFILE_TYPE,
        "refresh": 2,
        "sort": 2,
        "hide": 0,
    }


def _pyroscope_source(model: Mapping[str, object]) -> object:
    """The source of the first query of GPU allocations."""
    for _, node in _nodes(model, ""):
        if node.get("profileTypeId") == queries.PROFILE_TYPE and node.get("datasource"):
            return node["datasource"]
    for _, node in _nodes(model, ""):
        if as_object(node.get("datasource")).get("type") == PYROSCOPE:
            return node["datasource"]
    return None


# --- walking -------------------------------------------------------------------------------------


def _nodes(value: object, place: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Every object of the model, with the title of what it is in."""
    for item in as_list(value):
        yield from _nodes(item, place)
    node = as_object(value)
    if node:
        here = _label(node, place)
        yield here, node
        for child in node.values():
            yield from _nodes(child, here)


def _label(node: Mapping[str, object], place: str) -> str:
    label = node.get("title") or node.get("name")
    return f'"{label}"' if isinstance(label, str) else place


def _mapped_sources(value: object, place: str, mapped: Callable[[str, object], object]) -> object:
    if is_list(value):
        return [_mapped_sources(item, place, mapped) for item in value]
    if not is_object(value):
        return value
    here = _label(value, place)
    return {
        key: mapped(here, item) if key == "datasource" else _mapped_sources(item, here, mapped)
        for key, item in value.items()
    }


def _mapped_objects(
    value: object, change: Callable[[Mapping[str, object]], dict[str, object]]
) -> object:
    if is_list(value):
        return [_mapped_objects(item, change) for item in value]
    if is_object(value):
        return change({key: _mapped_objects(item, change) for key, item in value.items()})
    return value
