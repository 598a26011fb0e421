"""How much a killed Pyroscope loses, by where it keeps profiles: ``scripts/bench loss-window``.

The table of docs/users/operating.md, from the simulator's model of the server.
"""

from collections.abc import Iterator

from simulator.pyroscope.head import KINDS, loss


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| profiles are kept | pod killed | pod and disk lost | pod stopped |"
    yield "|---|---|---|---|"
    for kind in KINDS:
        found = loss(kind)
        cells = map(_said, (found.killed, found.disk_lost, found.stopped))
        yield f"| {kind.name} | {' | '.join(cells)} |"


def _said(minutes: int | None) -> str:
    if minutes is None:
        return "everything"
    return f"up to {minutes} min" if minutes else "nothing"


def main() -> None:
    """Print it."""
    print("\n".join(table()))  # noqa: T201


if __name__ == "__main__":
    main()
