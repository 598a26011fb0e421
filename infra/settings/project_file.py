"""What ``Pulumi.yaml`` sets for all stacks, and what of it a stack file takes away.

Pulumi knows whole values: a section in a stack file replaces the project's, keys and all (Pulumi's
documentation of project-level configuration). A setting that is lost in this way would be the
default again, without a word.
"""

from collections.abc import Iterator, Mapping

from infra.settings.loading import NAMESPACE
from infra.settings.section import as_mapping

PROJECT_FILE = "Pulumi.yaml"
_ALTERNATIVES = {"existing": "create", "create": "existing"}


def lost_settings(text: str, sections: Mapping[str, object]) -> Iterator[str]:
    """A sentence for each of the effective ``sections`` that lacks what the project file sets.

    ``text`` is the project file's; where it cannot be read, Pulumi says so itself.
    """
    if "config" not in text:
        return
    # Its import takes longer than reading the file.
    import yaml

    try:
        project = as_mapping(yaml.safe_load(text)) or {}
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    for key, written in (as_mapping(project.get("config")) or {}).items():
        name = key.removeprefix(f"{NAMESPACE}:")
        lost = list(_lost(_value(written), sections.get(name)))
        if lost:
            yield (
                f"{PROJECT_FILE} sets {', '.join(lost)} of {NAMESPACE}:{name}, which does not "
                "count here: the stack file's section takes the place of the whole one. "
                "What is still meant has to be in the stack file too."
            )


def _value(written: object) -> object:
    """The value of an entry: in full (`value`, `default`) or by itself."""
    entry = as_mapping(written) or {}
    return entry.get("value", entry.get("default", written))


def _lost(project: object, effective: object, path: str = "") -> Iterator[str]:
    outer, inner = as_mapping(project), as_mapping(effective)
    if outer is None or inner is None:
        return
    for key, value in outer.items():
        if key in inner:
            yield from _lost(value, inner[key], f"{path}{key}.")
        elif _ALTERNATIVES.get(key) not in inner:
            yield f"`{path}{key}`"
