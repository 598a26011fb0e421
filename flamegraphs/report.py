"""Writes the answers as text for people and as JSON for machines.

What only one of the answers needs is imported where that is written.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from contract.agent import measures_allocations
from flamegraphs.hotspots import Hotspots, Row
from flamegraphs.terminal import text
from flamegraphs.units import amount, percent, unit_text

if TYPE_CHECKING:
    from flamegraphs.diff import Diff

HIGH_UNRESOLVED = 0.2
"""The share without a named function from which on a reader is warned."""


def _stacks(found: Hotspots) -> str:
    return "1 stack" if found.samples == 1 else f"{found.samples:,} stacks"


def warnings(found: Hotspots, gpu_memory: int, *, binary: bool = False) -> list[str]:
    """What a practised reader would say before reading the table.

    ``gpu_memory`` is the size of one GPU in bytes.
    """
    sentences = list(found.profile.notes)
    if found.samples and not found.magnitude:
        sentences.append(
            "Every value is 0: nothing of this type was measured on what was recorded "
            f"({_stacks(found)})."
        )
    if found.is_difference:
        sentences.append(
            "Values below zero: this is the difference of two profiles, and what is negative has "
            "become less. Shares are parts of all that changed, in either direction."
        )
    unresolved = found.share(found.unresolved)
    if abs(unresolved) >= HIGH_UNRESOLVED:
        sentences.append(
            f"{percent(unresolved)} has no named function. The first profile of a process can lack "
            "symbols: run the workload again and take a window after that."
        )
    if found.truncated:
        sentences.append(
            f"{percent(found.share(found.truncated))} was cut from the server's answer "
            "(other); which functions it belongs to is not known."
        )
    if _measures_allocations(found) and not found.is_difference:
        if found.total > gpu_memory:
            sentences.append(
                f"More was allocated than one GPU of {amount(gpu_memory, 'bytes', binary=binary)} "
                "holds. These are all allocations of the window, over every process selected; what "
                "was freed in between is not taken off, so this is not live memory."
            )
        else:
            sentences.append(
                "These are bytes allocated in the window, not live memory: frees are not seen, and "
                "a restarted workload counts twice."
            )
    return sentences


def hotspots_text(
    found: Hotspots, *, limit: int, gpu_memory: int, binary: bool = False, stack: bool = True
) -> str:
    """The report of `hotspots`: header, table, stack, and what to bear in mind."""
    unit = found.profile.counted

    def value(number: int) -> str:
        return amount(number, unit, binary=binary)

    shown = found.rows[:limit]
    table = [("attributed self", "raw self", "total", "share", "function")]
    table += [
        (
            value(row.attributed),
            value(row.raw),
            value(row.total),
            percent(found.share(row.attributed)),
            row.name + _kind_note(row),
        )
        for row in shown
    ]
    lines = [*_header(found, binary=binary), "", *_aligned(table)]
    if len(found.rows) > len(shown):
        rest = found.total - sum(row.attributed for row in shown)
        lines.append(
            f"... and {len(found.rows) - len(shown):,} more functions with {value(rest)} "
            "attributed self (--limit)"
        )
    if stack and found.stack:
        lines += ["", f"Stack of {found.rows[0].name}, bottom to top"]
        lines[-1] += f" ({value(found.stack_value)} came this way):"
        width = len(str(len(found.stack)))
        lines += [f"  {n:>{width}}  {name}" for n, name in enumerate(found.stack, 1)]
    if notes := warnings(found, gpu_memory, binary=binary):
        lines += ["", *(f"Note: {sentence}" for sentence in notes)]
    return text(lines)


def hotspots_json(found: Hotspots, *, limit: int, gpu_memory: int) -> str:
    """The same for machines; all values are whole numbers in the stated unit."""
    return _json(
        {
            **_described(found),
            "warnings": warnings(found, gpu_memory),
            "functions": [
                {
                    "name": row.name,
                    "kind": _kind(row),
                    "attributedSelf": row.attributed,
                    "rawSelf": row.raw,
                    "total": row.total,
                    "share": found.share(row.attributed),
                }
                for row in found.rows[:limit]
            ],
            "functionCount": len(found.rows),
            "stack": {"frames": list(found.stack), "value": found.stack_value},
        }
    )


def diff_text(found: "Diff", *, limit: int, gpu_memory: int, binary: bool = False) -> str:
    """The report of `diff`: both headers, the whole, and the largest changes first."""
    from flamegraphs.diff import growth_text

    unit = found.after.profile.counted or found.before.profile.counted

    def value(number: int) -> str:
        return amount(number, unit, binary=binary)

    def signed(number: int) -> str:
        return ("+" if number > 0 else "") + value(number)

    lines: list[str] = []
    for title, side in (("A (before)", found.before), ("B (after)", found.after)):
        lines += [title, *("  " + line for line in _header(side, binary=binary))]
    lines += [
        "",
        f"Whole: {value(found.before.total)} -> {value(found.after.total)}, "
        f"{signed(found.growth)} ({growth_text(found)})",
        "",
    ]
    if not found.changes:
        lines.append("No function has changed.")
    else:
        table = [("change", "A self", "B self", "change of total", "function")]
        table += [
            (
                signed(change.growth),
                value(change.attributed[0]),
                value(change.attributed[1]),
                signed(change.total_growth),
                change.name,
            )
            for change in found.changes[:limit]
        ]
        lines += _aligned(table)
        if len(found.changes) > limit:
            lines.append(f"... and {len(found.changes) - limit:,} smaller changes (--limit)")
    notes = _across(found)
    for side in (found.before, found.after):
        notes += [note for note in warnings(side, gpu_memory, binary=binary) if note not in notes]
    lines += ["", *(f"Note: {sentence}" for sentence in notes)] if notes else []
    return text(lines)


def _across(found: "Diff") -> list[str]:
    """The note that a comparison needs whose sides are not of one kind."""
    from flamegraphs.diff import comparable, measured

    if comparable(found.before, found.after):
        return []
    return [
        f"The two sides measure different things: A {measured(found.before)}, B "
        f"{measured(found.after)}. Their difference is one of numbers only."
    ]


def diff_json(found: "Diff", *, limit: int, gpu_memory: int) -> str:
    """The same for machines."""
    return _json(
        {
            "before": {**_described(found.before), "warnings": warnings(found.before, gpu_memory)},
            "after": {**_described(found.after), "warnings": warnings(found.after, gpu_memory)},
            "warnings": _across(found),
            "growth": found.growth,
            "changes": [
                {
                    "name": change.name,
                    "attributedSelf": list(change.attributed),
                    "rawSelf": list(change.raw),
                    "total": list(change.total),
                }
                for change in found.changes[:limit]
            ],
            "changeCount": len(found.changes),
        }
    )


def header(found: Hotspots, *, binary: bool) -> dict[str, str]:
    """What was read and how much of it is known, in the order to show it in."""
    profile = found.profile
    total = amount(found.total, profile.counted, binary=binary)
    return {
        **profile.facts,
        "measured": profile.sample_type or "not stated by the file",
        "unit": unit_text(profile.unit, binary=binary),
        "total": f"{total} in {_stacks(found)}",
        "unresolved": percent(found.share(found.unresolved)),
        "truncated": percent(found.share(found.truncated)) if found.truncated else "no",
    }


def _measures_allocations(found: Hotspots) -> bool:
    return measures_allocations(found.profile.sample_type, found.profile.unit)


def _header(found: Hotspots, *, binary: bool) -> list[str]:
    facts = header(found, binary=binary)
    width = max(map(len, facts))
    return [f"{name:<{width}}  {value}" for name, value in facts.items()]


def _described(found: Hotspots) -> dict[str, object]:
    profile = found.profile
    return {
        "facts": dict(profile.facts),
        "sampleType": profile.sample_type,
        "unit": profile.unit,
        "total": found.total,
        "difference": found.is_difference,
        "samples": found.samples,
        "unresolved": found.unresolved,
        "unresolvedShare": found.share(found.unresolved),
        "truncated": found.truncated,
    }


def _kind(row: Row) -> str:
    return "bucket" if row.kind is None else row.kind.name.lower()


def _kind_note(row: Row) -> str:
    return "" if row.kind is None or not row.kind else f"  [{_kind(row)}]"


def _aligned(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
        + f"  {row[-1]}"
        for row in table
    ]


def _json(document: Mapping[str, object]) -> str:
    import json

    return json.dumps(document, indent=2) + "\n"
