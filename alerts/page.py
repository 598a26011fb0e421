"""``python -m alerts.page`` writes ``docs/users/alerts.md``, the runbook, from the catalogue.

With ``--check`` nothing is written and the exit status says whether the page is in step.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from alerts.catalogue import CATALOGUE, Alert
from alerts.expressions import RECORDED_LIVE, Scope
from contract.azure import ACTION_GROUP

PAGE = Path(__file__).resolve().parent.parent / "docs" / "users" / "alerts.md"

_INTRODUCTION = """\
# Alerts

<!-- Generated from alerts/ by `python -m alerts.page`. -->

Off unless a stack asks for them. On Azure Monitor, with somebody to notify:

```yaml
gpuobs:alerts:
  email: [oncall@example.com]        # an action group that the stack makes; or, or also:
  actionGroups: ["/subscriptions/.../providers/ACTION_GROUP/NAME"]
  rules:
    leak: { threshold: 2 }           # GB per hour
    nearCapacity: { enabled: true }
    restarted: { enabled: false }
```

The stack makes one Prometheus rule group on the Azure Monitor workspace, for the data of its own
cluster, and where the cluster's metrics add-on is on, a PodMonitor that collects Pyroscope's own
metrics. For a Prometheus of your own, the same rules as a file:

```sh
python -m gpuobs alerts --stack dev --format prometheus > rules.yaml
```

Each alert carries a summary, a link to the dashboard with its pod and the last two hours, the
command that shows the cause (the first of its section here, filled in), and the address of its
section here. Every rule is tested on a real
Prometheus, with series that it is for and with neighbours that look like them.

Ranges that follow from how soon profiles reach Blob are those of a stack without
`storage.lossWindow` here; a stack's own rules, and with `--stack` the file's, have its own.

Which metrics an alert needs stands beside it; where they are not collected, it stays silent.
kube-state-metrics is collected by Azure Monitor's add-on; the
[DCGM exporter](https://github.com/NVIDIA/dcgm-exporter) is the operator's to install, with a
PodMonitor or ServiceMonitor of API group `azmonitoring.coreos.com`. Azure's `cluster` label is the
cluster's name; where `cluster_alias` in the add-on's ConfigMap says otherwise, write the alias as
`clusterLabel`.

Lines of kubectl need a kubeconfig:
`az aks get-credentials --name CLUSTER --resource-group GROUP`.

| setting | alert | fires | after | severity | needs | |
|---|---|---|--:|---|---|---|
"""

_RECORDED = f"""\
One rule records `{RECORDED_LIVE}`, the bytes that each process holds
([how it is computed](dashboard.md#how-live-memory-is-computed)); the leak alert looks back over it.
"""


def page() -> str:
    """The whole page."""
    rows = "".join(f"{_row(alert)}\n" for alert in CATALOGUE)
    sections = "\n".join("\n".join(_section(alert)) + "\n" for alert in CATALOGUE)
    introduction = _INTRODUCTION.replace("ACTION_GROUP", ACTION_GROUP)
    return f"{introduction}{rows}\n{_RECORDED}\n{sections}"


def _row(alert: Alert) -> str:
    fires = "where it is so"
    if alert.threshold is not None:
        fires = f"{alert.threshold.default:g} {alert.threshold.unit}"
    cells = (
        f"`{alert.key}`",
        f"[{alert.name}](#{alert.name.lower()})",
        fires,
        f"{alert.minutes} min" if alert.minutes else "at once",
        alert.severity,
        alert.needs,
        "on" if alert.on else "**off**",
    )
    return f"| {' | '.join(cells)} |"


def _section(alert: Alert) -> Iterator[str]:
    yield f"## {alert.name}\n"
    yield f"{alert.runbook.meaning}\n"
    yield f"**Not this.** {alert.runbook.not_this}\n"
    yield "**Look.**\n"
    yield "\n".join(("```sh", *alert.runbook.look, "```\n"))
    yield "**Fix.**\n"
    yield "\n".join(f"- {step}" for step in alert.runbook.fix) + "\n"
    default = alert.threshold.default if alert.threshold is not None else 0
    yield "**The rule.**\n"
    yield f"```promql\n{alert.expression(Scope(None), default)}\n```"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or say whether it is in step; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m alerts.page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    wanted = page()
    if not parser.parse_args(arguments).check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    sys.stderr.write(f"{PAGE} is out of step: run `python -m alerts.page`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
