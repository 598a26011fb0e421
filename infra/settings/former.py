"""Settings that had another spelling before: still read, with a note that names the new one.

A former spelling beside the current one, or with a value that is not accepted any more, is left
where it is: it is then refused like any other setting that does not exist.
"""

from collections.abc import Mapping

from infra.settings.section import as_mapping


def with_current_spellings(
    sections: Mapping[str, object],
) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """``sections`` of a stack file in today's spelling, and a sentence for each former one."""
    grafana = as_mapping(sections.get("grafana"))
    if grafana is None:
        return sections, ()
    notes: list[str] = []
    sources, create = as_mapping(grafana.get("dataSources")), as_mapping(grafana.get("create"))
    if sources is not None and "adopt" in sources and "adopt" not in grafana:
        kept = {key: value for key, value in sources.items() if key != "adopt"}
        grafana = {**grafana, "dataSources": kept, "adopt": sources["adopt"]}
        notes.append(
            "gpuobs:grafana.dataSources.adopt is now gpuobs:grafana.adopt: it covers the dashboard "
            "as well. Move it there; the old spelling is still read."
        )
    if create is not None and create.get("tier") == "Standard":
        kept = {key: value for key, value in create.items() if key != "tier"}
        grafana = {**grafana, "create": kept}
        notes.append(
            "gpuobs:grafana.create.tier is no longer a setting: write gpuobs:grafana.create "
            "without `tier`. A new workspace is always of tier Standard."
        )
    return {**sections, "grafana": grafana}, tuple(notes)
