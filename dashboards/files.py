"""A dashboard file of the user's own, made ready for this stack's data sources.

Accepts what Grafana hands out: the plain model, the answer of its API (``{"dashboard": ...}``) and
an export "for sharing externally", whose ``__inputs`` are placeholders that Grafana's import page
would ask for. Nothing asks here, so every placeholder must be one that the stack can answer.

Not here: library panels and the dynamic layout (schema v2), which are refused with the reason.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NoReturn

from contract.grafana import PROMETHEUS, PYROSCOPE
from contract.json import as_list, as_object, as_objects, is_list, is_object
from dashboards import file_sources
from dashboards.file_sources import EXPRESSIONS, is_prometheus

_VARIABLE: Final = re.compile(r"\$\{(\w+)(?:[:.][^}]*)?\}|\$(\w+)|\[\[(\w+)(?::[^\]]*)?\]\]")
_EXPORTED: Final = re.compile(r"\$\{((?:DS|VAR)_\w+)\}")
_UID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")

_Object = Mapping[str, object]


def load_file(
    text: str,
    *,
    uid: str | None = None,
    title: str | None = None,
    pyroscope_uid: str,
    prometheus_uid: str | None,
) -> dict[str, object]:
    """The model in ``text`` with its placeholders resolved, ready for Grafana's API.

    ``uid`` and ``title`` replace the file's where given. ``id`` is null and the version is left
    out, as both belong to the Grafana that the file came from. A data source variable of our two
    types without a choice of its own starts with this stack's source.

    Raises:
        ValueError: one sentence for the person who named the file: it is no dashboard, or needs
            something that cannot be resolved.
    """
    try:
        model = _prepare(_parse(text), pyroscope_uid, prometheus_uid)
        model["uid"] = _uid(uid if uid is not None else model.get("uid"))
        model["title"] = _title(title if title is not None else model.get("title"))
        return as_object(json.loads(json.dumps(model, sort_keys=True)))
    except RecursionError as error:
        raise ValueError("The dashboard file is nested too deeply to be a dashboard.") from error


def _prepare(document: object, pyroscope_uid: str, prometheus_uid: str | None) -> dict[str, object]:
    model = _resolve_inputs(_model(document), pyroscope_uid, prometheus_uid)
    file_sources.refuse_library_panels(model)
    _preselect(model, pyroscope_uid, prometheus_uid)
    _refuse_unresolved(model)
    model = file_sources.with_own_sources(model, pyroscope_uid, prometheus_uid)
    model = file_sources.with_discovered_profile_type(model)
    model.pop("version", None)
    return model | {"id": None}


def _parse(text: str) -> object:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"The dashboard file contains {constant}, which is not valid JSON.")

    try:
        return json.loads(text.removeprefix("\ufeff"), parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"The dashboard file is not JSON: {error.msg} in line {error.lineno}, column "
            f"{error.colno}. Export the dashboard from Grafana again as JSON."
        ) from error


def _model(document: object) -> dict[str, object]:
    if not is_object(document):
        raise ValueError("The dashboard file holds no JSON object, so it is not a dashboard.")
    model = document
    for wrapper in ("dashboard", "spec"):
        wrapped = model.get(wrapper)
        if is_object(wrapped):
            # An export's placeholders may stand beside the wrapped model.
            inputs = {key: model[key] for key in ("__inputs", "__elements") if key in model}
            model = inputs | wrapped
            break
    if isinstance(model.get("elements"), dict):
        raise ValueError(
            "The dashboard file uses Grafana's dynamic layout (schema v2), which not every Grafana "
            "from 11.6 on can read. Export it with the classic model (V1 resource) instead."
        )
    if not isinstance(model.get("panels"), list):
        raise ValueError(
            'The dashboard file has no list of "panels", so it is not a Grafana dashboard. Export '
            "one with Grafana's Share or Export menu as JSON."
        )
    if model.get("__elements"):
        raise ValueError(
            "The dashboard file uses library panels, which live apart from it. Unlink them in "
            "Grafana and export the dashboard again."
        )
    return model


# --- placeholders --------------------------------------------------------------------------------


def _resolve_inputs(
    model: dict[str, object], pyroscope_uid: str, prometheus_uid: str | None
) -> dict[str, object]:
    answers = {
        name: _answer(name, given, pyroscope_uid, prometheus_uid)
        for name, given in _inputs(model.get("__inputs"))
    }
    kept = {key: value for key, value in model.items() if not key.startswith("__")}

    def fill(text: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda found: answers.get(found[1], found[0]), text)

    return as_object(_map_strings(kept, fill))


def _inputs(value: object) -> Iterator[tuple[str, _Object]]:
    if value is None:
        return
    if is_list(value):
        for item in value:
            given = as_object(item)
            name = given.get("name")
            if not isinstance(name, str) or not name:
                break
            yield name, given
        else:
            return
    raise ValueError(
        'The dashboard file\'s "__inputs" is not a list of objects with a name, so its '
        "placeholders cannot be known. Export the dashboard again."
    )


def _answer(name: str, given: _Object, pyroscope_uid: str, prometheus_uid: str | None) -> str:
    kind, plugin, value = given.get("type"), given.get("pluginId"), given.get("value")
    if kind == "constant" and isinstance(value, str | int | float):
        return str(value)
    if kind == "datasource" and plugin == PYROSCOPE:
        return pyroscope_uid
    if kind == "datasource" and plugin == EXPRESSIONS:
        return EXPRESSIONS
    if kind == "datasource" and is_prometheus(plugin):
        if prometheus_uid is None:
            raise ValueError(
                f"The dashboard file's placeholder {name} stands for a Prometheus data source, and "
                "this stack has none. Configure the prometheus section, or take the panels that "
                "need it out of the file."
            )
        return prometheus_uid
    wanted = f"a data source of type {plugin}" if kind == "datasource" else f"a {kind} input"
    raise ValueError(
        f"The dashboard file's placeholder {name} stands for {wanted}, which this stack cannot "
        f"fill: it has sources of type {PROMETHEUS} and {PYROSCOPE}. Replace ${{{name}}} "
        'in the file with a fixed value and remove the entry from "__inputs".'
    )


def _preselect(model: dict[str, object], pyroscope_uid: str, prometheus_uid: str | None) -> None:
    for variable in _variables(model):
        if variable.get("type") != "datasource" or as_object(variable.get("current")).get("value"):
            continue
        if variable.get("query") == PYROSCOPE:
            chosen = pyroscope_uid
        elif is_prometheus(variable.get("query")) and prometheus_uid is not None:
            chosen = prometheus_uid
        else:
            continue
        variable["current"] = {"selected": True, "text": chosen, "value": chosen}


def _refuse_unresolved(model: dict[str, object]) -> None:
    sources = {
        variable.get("name")
        for variable in _variables(model)
        if variable.get("type") == "datasource"
    }
    for place, reference in _data_source_references(model, "dashboard"):
        for found in _VARIABLE.finditer(reference):
            name = found[1] or found[2] or found[3]
            if name not in sources:
                raise ValueError(
                    f"The dashboard file's {place} uses the data source {reference}, but neither "
                    f'"__inputs" nor a data source variable defines {name}. Define it, or name the '
                    "data source's uid."
                )
    left = sorted({name for text in _strings(model) for name in _EXPORTED.findall(text)})
    defined = {variable.get("name") for variable in _variables(model)}
    for name in left:
        if name not in defined:
            raise ValueError(
                f'The dashboard file contains the placeholder ${{{name}}}, which its "__inputs" do '
                "not define. Export the dashboard again, or replace it with a fixed value."
            )


def _data_source_references(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Every data source named in the model, by name or by uid, with where it stands."""
    for item in as_list(value):
        yield from _data_source_references(item, place)
    node = as_object(value)
    label = node.get("title") or node.get("name")
    here = f'"{label}"' if isinstance(label, str) else place
    source = node.get("datasource")
    reference = source if isinstance(source, str) else as_object(source).get("uid")
    if isinstance(reference, str):
        yield here, reference
    for child in node.values():
        yield from _data_source_references(child, here)


# --- small ones ----------------------------------------------------------------------------------


def _uid(value: object) -> str:
    if isinstance(value, str) and _UID.fullmatch(value):
        return value
    raise ValueError(
        f"The dashboard's uid is {value!r}; Grafana accepts 1 to 40 letters, digits, hyphens and "
        "underscores. Set grafana.dashboard.uid or correct the file."
    )


def _title(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise ValueError(
        "The dashboard file has no title. Set grafana.dashboard.title or add one to the file."
    )


def _variables(model: _Object) -> list[dict[str, object]]:
    return as_objects(as_object(model.get("templating")).get("list"))


def _map_strings(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if is_list(value):
        return [_map_strings(item, change) for item in value]
    if is_object(value):
        return {key: _map_strings(item, change) for key, item in value.items()}
    return value


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in (*as_list(value), *as_object(value).values()):
        yield from _strings(item)
