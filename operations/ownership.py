"""Whose an object on a shared Grafana is: marks that are written, and read back exactly.

A data source carries its owner in ``jsonData.gpuobs``; a dashboard, which keeps no such field, in a
tag. An object without a mark was made by a person or another tool and counts as somebody else's.
"""

import hashlib
from collections.abc import Iterable

from contract.grafana import OWNER_MARK, OWNER_TAG_PREFIX
from contract.json import Document
from contract.messages.grafana import Owner

_HASH_CHARACTERS = 12


def data_source_mark(owner: Owner, revision: str) -> dict[str, object]:
    """The value of ``jsonData.gpuobs``."""
    return {"owner": owner.model_dump(by_alias=True), "revision": revision}


def owns_data_source(owner: Owner, source: Document) -> bool:
    """Whether ``source``, as Grafana answers it, carries ``owner``'s mark."""
    return owner_of_data_source(source) == _normal(owner)


def owner_of_data_source(source: Document) -> Owner | None:
    """The owner that ``source`` is marked with."""
    mark = source.child("jsonData", OWNER_MARK, "owner")
    owner = Owner(
        cluster=mark.text("cluster").lower(),
        project=mark.text("project"),
        stack=mark.text("stack"),
    )
    return owner if mark else None


def owner_tag(owner: Owner) -> str:
    """The tag that marks ``owner``'s dashboards; case does not count in it."""
    text = f"{owner.cluster}|{owner.project}|{owner.stack}".lower()
    return OWNER_TAG_PREFIX + hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]


def owns_tags(owner: Owner, tags: Iterable[str]) -> bool:
    """Whether a dashboard with ``tags`` is ``owner``'s."""
    return owner_tag(owner) in tags


def describe(owner: Owner | None) -> str:
    """Who that is, for a person."""
    if owner is None:
        return "an unknown owner (no owner mark: made by hand or by another tool)"
    return f"stack {owner.stack!r} of project {owner.project!r} for the cluster {owner.cluster}"


def describe_tags(tags: Iterable[str]) -> str:
    """Whose a dashboard with ``tags`` is, for a person."""
    marks = [tag for tag in tags if tag.startswith(OWNER_TAG_PREFIX)]
    return f"another stack of this program (tag {marks[0]})" if marks else describe(None)


def _normal(owner: Owner) -> Owner:
    return owner.model_copy(update={"cluster": owner.cluster.lower()})
