"""The report of a run: what to send back. Ids of the subscription and the caller are left out."""

import json
from datetime import UTC, datetime
from importlib import metadata

from simulator.values import JsonObject
from tests.live.check import Check, Section
from tests.live.run import Record, counted


def as_document(record: Record, checks: dict[str, Check], secret: dict[str, str]) -> JsonObject:
    """The report as a JSON object.

    Args:
        record: of the run.
        checks: by id.
        secret: text to leave out, with what takes its place.
    """
    document: JsonObject = {
        "finished": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "versions": {
            name: metadata.version(name)
            for name in ("pulumi", "pulumi-azure-native", "pulumi-kubernetes", "pulumi-command")
        },
        "summary": counted(record.verdicts.values()),
        "interrupted": record.interrupted,
        "problems": list(record.problems),
        "left": record.left,
        "checks": [
            {
                "id": one.id,
                "section": one.section.value,
                "assumption": one.assumption,
                "result": record.verdicts[one.id].result.value,
                "evidence": record.verdicts[one.id].evidence,
            }
            for one in checks.values()
        ],
    }
    text = json.dumps(document)
    for value, instead in secret.items():
        text = text.replace(value, instead)
    cleaned: JsonObject = json.loads(text)
    return cleaned


def as_markdown(record: Record, checks: dict[str, Check], secret: dict[str, str]) -> str:
    """The report as a page."""
    lines = [
        "# Assumptions, checked on a subscription",
        "",
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, pulumi {metadata.version('pulumi')}, "
        f"azure-native {metadata.version('pulumi-azure-native')}.",
        "",
        f"{counted(record.verdicts.values())}.",
    ]
    lines += [f"\n**Problem:** {one}" for one in record.problems]
    if record.interrupted:
        lines += ["", "**Interrupted**"]
    if record.left:
        lines += ["", f"**Left behind:** {record.left}"]
    for section in Section:
        lines += ["", f"## {section.value}", "", "| check | result | evidence |", "|---|---|---|"]
        for one in checks.values():
            if one.section is section:
                verdict = record.verdicts[one.id]
                seen = verdict.evidence.replace("|", "\\|").replace("\n", " ")
                lines.append(f"| {one.id} | {verdict.result.value} | {seen} |")
    text = "\n".join(lines) + "\n"
    for value, instead in secret.items():
        text = text.replace(value, instead)
    return text
