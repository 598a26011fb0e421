"""Looking at a shared Grafana for what a stack's own objects would meet there.

Facts for :mod:`operations.survey`: what has the name or uid that the stack wants and is not its
own, and what of its own is there under another uid.
"""

from collections.abc import Iterator, Sequence

from contract.azure import Role
from contract.grafana import PROMETHEUS_TYPES
from contract.json import Document
from contract.messages.grafana import Owner
from contract.messages.survey import DASHBOARD, InTheWay, OnGrafana, WantedOnGrafana, WantedSource
from operations import ownership
from operations.grafana import Grafana, segment

_ADMIN = Role.GRAFANA_ADMIN.role_name
_EDITOR = Role.GRAFANA_EDITOR.role_name


def look(wanted: WantedOnGrafana, grafana: Grafana) -> OnGrafana:
    """What is there; raises what Grafana's API does."""
    sources = grafana.get_list("/api/datasources", "list the data sources", _ADMIN)
    in_the_way: list[InTheWay] = []
    moving: list[str] = []
    for name, source in wanted.sources.items():
        in_the_way += _sources_in_the_way(name, source, wanted.owner, sources)
        if _source_moves(source, wanted.owner, sources):
            moving.append(name)
    live = grafana.find(
        f"/api/dashboards/uid/{segment(wanted.dashboard_uid)}", "look up the dashboard", _EDITOR
    )
    if live is None:
        if _other_dashboards(wanted, grafana):
            moving.append(DASHBOARD)
    elif not ownership.owns_tags(wanted.owner, live.texts("dashboard", "tags")):
        in_the_way.append(_dashboard_in_the_way(wanted, live, _former_owners(wanted, sources)))
    return OnGrafana(in_the_way=tuple(in_the_way), moving=tuple(moving))


def _sources_in_the_way(
    name: str, wanted: WantedSource, owner: Owner, sources: Sequence[Document]
) -> Iterator[InTheWay]:
    for one in sources:
        by = [key for key in ("uid", "name") if one.text(key) == getattr(wanted, key)]
        if not by or ownership.owns_data_source(owner, one):
            continue
        theirs = ownership.owner_of_data_source(one)
        yield InTheWay(
            wanted=name,
            by=by[0],
            title=one.text("name"),
            uid=one.text("uid"),
            whose=ownership.describe(theirs),
            provisioned=one.flag("readOnly"),
            same_stack=theirs is not None and _is_same_stack(theirs, owner),
        )


def _source_moves(wanted: WantedSource, owner: Owner, sources: Sequence[Document]) -> bool:
    """Whether the owner's source of that kind is there, but not under the wanted uid."""
    kinds = PROMETHEUS_TYPES if wanted.type in PROMETHEUS_TYPES else {wanted.type}
    ours = {
        one.text("uid")
        for one in sources
        if one.text("type") in kinds and ownership.owns_data_source(owner, one)
    }
    return bool(ours) and wanted.uid not in ours


def _other_dashboards(wanted: WantedOnGrafana, grafana: Grafana) -> bool:
    found = grafana.get_list(
        "/api/search",
        "search for the dashboards of this stack",
        _EDITOR,
        type="dash-db",
        tag=ownership.owner_tag(wanted.owner),
    )
    return any(one.text("uid") not in ("", wanted.dashboard_uid) for one in found)


def _dashboard_in_the_way(
    wanted: WantedOnGrafana, live: Document, former: Sequence[Owner]
) -> InTheWay:
    tags = live.texts("dashboard", "tags")
    return InTheWay(
        wanted=DASHBOARD,
        by="uid",
        title=live.text("dashboard", "title"),
        uid=wanted.dashboard_uid,
        whose=ownership.describe_tags(tags),
        provisioned=live.flag("meta", "provisioned"),
        same_stack=any(ownership.owns_tags(one, tags) for one in former),
    )


def _former_owners(wanted: WantedOnGrafana, sources: Sequence[Document]) -> list[Owner]:
    """The stack of this name for other clusters, by its data sources: a tag cannot be read back."""
    owners = map(ownership.owner_of_data_source, sources)
    return [one for one in owners if one is not None and _is_same_stack(one, wanted.owner)]


def _is_same_stack(theirs: Owner, owner: Owner) -> bool:
    return (theirs.project, theirs.stack) == (owner.project, owner.stack)
