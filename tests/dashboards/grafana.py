"""What Grafana does to a dashboard before it asks a data source, as far as the tests need it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

Json = Mapping[str, object]
Choice = str | Sequence[str]

ALL = "$__all"
"""The value of a variable with "All" chosen; every choice variable here has ``.*`` for it."""

EVERYTHING: Mapping[str, Choice] = {"cluster": ALL, "namespace": ALL, "pod": ALL}

_FOR_REGEX = re.compile(r"[$^*{}\[\]'+?.()|]")


def objects(value: object) -> list[Json]:
    return [cast("Json", item) for item in cast("Sequence[object]", value or [])]


def mapping(value: object) -> Json:
    assert isinstance(value, Mapping), value
    return cast("Json", value)


def panels(dashboard: Json) -> list[Json]:
    return [panel for panel in objects(dashboard["panels"]) if panel["type"] != "row"]


def panel(dashboard: Json, panel_id: int) -> Json:
    (found,) = [item for item in panels(dashboard) if item["id"] == panel_id]
    return found


def variables(dashboard: Json) -> dict[str, Json]:
    listed = objects(mapping(dashboard["templating"])["list"])
    return {str(item["name"]): item for item in listed}


def target(dashboard: Json, panel_id: int, ref_id: str = "A") -> Json:
    targets = objects(panel(dashboard, panel_id)["targets"])
    (found,) = [item for item in targets if item["refId"] == ref_id]
    return found


def expressions(dashboard: Json) -> Iterator[tuple[str, str]]:
    """Every PromQL expression of panels and annotations, with a name for it."""
    for item in panels(dashboard):
        for query in objects(item.get("targets")):
            if "expr" in query:
                yield f"{item['title']} {query['refId']}", str(query["expr"])
    for annotation in objects(mapping(dashboard["annotations"]).get("list")):
        yield str(annotation["name"]), str(annotation["expr"])


def promql(
    expression: str,
    chosen: Mapping[str, Choice] = EVERYTHING,
    *,
    rate_interval: str = "5m",
    interval: str = "1m",
    time_range: str = "1h",
) -> str:
    """The expression that the Prometheus data source sends."""
    text = expression.replace("$__rate_interval", rate_interval)
    text = text.replace("$__interval", interval).replace("$__range", time_range)
    for name, value in chosen.items():
        text = text.replace(f"${name}", _for_promql(value))
    # $1 is label_replace's: Grafana leaves in place what is no variable's name.
    left = text.replace('"$1"', "")
    assert "$" not in left, f"Grafana would leave a variable in place: {text}"
    return text


def _for_promql(value: Choice) -> str:
    if value == ALL:
        return ".*"
    # Escaped twice: once for the regular expression, once for PromQL's double-quoted string.
    values = [
        _FOR_REGEX.sub(lambda found: "\\\\" + found[0], text.replace("\\", "\\\\\\\\"))
        for text in ([value] if isinstance(value, str) else value)
    ]
    return values[0] if len(values) == 1 else f"({'|'.join(values)})"


def pyroscope(text: str, chosen: Mapping[str, Choice]) -> str:
    """A label selector or a profile type as the Pyroscope data source sends it."""
    for name, value in chosen.items():
        values = [".*"] if value == ALL else [value] if isinstance(value, str) else list(value)
        text = text.replace(f"${{{name}:pipe}}", "|".join(values))
        text = text.replace(f"${name}", values[0])
    assert "$" not in text, f"Grafana would leave a variable in place: {text}"
    return text


def options_after_regex(regex: str, values: Sequence[str]) -> list[str]:
    """What a query variable offers of ``values``: the first group of each match, sorted as set."""
    pattern = re.compile(regex.removeprefix("/").removesuffix("/"))
    return [found[1] for value in values if (found := pattern.search(value))]
