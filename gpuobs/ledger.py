"""``ledger``: what the device says is used, who holds it, and the rest. See :mod:`memory`."""

import argparse
from typing import TYPE_CHECKING

from flamegraphs import terminal
from gpuobs.memory_arguments import add_arguments
from gpuobs.statuses import Status
from gpuobs.verb import Verb
from operations.errors import ExitCode, OperationError

if TYPE_CHECKING:
    from memory.ledger import Account
    from memory.reading import Reading


def _run(options: argparse.Namespace) -> Status:
    from memory import ledger, reading, sources, text

    of, words = sources.window_of(options), sources.words_of(options.vocabulary)
    with sources.sources(options) as found:
        if found.metrics is None:
            raise OperationError(
                ExitCode.NOT_FOUND,
                "There are no metrics to add up: the stack has no Prometheus.",
                fix="write section gpuobs:prometheus and pulumi up, or name one with --prometheus",
            )
        read = reading.read(found.metrics, of.start.timestamp(), of.end.timestamp(), found.cluster)
        accounts = [
            one
            for one in ledger.ledger(read)
            if options.pod is None or any(pod.name == options.pod for pod in one.pods)
        ]
        pod = next(
            (pod for one in accounts for pod in sorted(one.pods) if pod.name == options.pod), None
        )
        allocated = sources.profile_of(found, pod, of, words)
    if options.json:
        terminal.write(_json(read, accounts) + "\n")
    else:
        lines = text.ledger_text(read, accounts, allocated, binary=options.binary)
        terminal.write(terminal.text(lines))
    return Status.DONE


def _json(read: "Reading", accounts: "list[Account]") -> str:
    import json

    return json.dumps(
        {
            "at": read.at,
            "deviceSource": read.device_source or None,
            "accounts": [
                {
                    "name": account.name,
                    "usedBytes": account.device_bytes,
                    "devices": [device.id for device in account.devices],
                    "rows": [
                        {
                            "bytes": row.bytes,
                            "pid": row.process.pid if row.process else None,
                            "pod": str(row.process.pod) if row.process else None,
                            "cause": row.cause,
                            "ground": row.ground or None,
                        }
                        for row in account.rows
                    ],
                    "ended": [
                        {"pid": one.pid, "lastSeen": one.last_seen, "peakBytes": one.peak}
                        for one in account.ended
                    ],
                }
                for account in accounts
            ],
        }
    )


LEDGER = Verb(
    name="ledger",
    summary="add up what the devices use: who holds it, and what the rest is",
    usage="[options]",
    add_arguments=add_arguments,
    run=_run,
    examples=("--stack dev", "--stack dev --pod vllm-0 --json"),
)
