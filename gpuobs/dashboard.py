"""``dashboard``: the built-in dashboard as JSON. Done by :mod:`dashboards`."""

import argparse

from gpuobs.output import add_output, write
from gpuobs.statuses import Status
from gpuobs.verb import Verb, add_stack

_UID = "AdvancedGPUObservability"
_TITLE = "Advanced GPU Observability"
_PYROSCOPE_UID = "local-pyroscope"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser, "without it, the defaults below")
    parser.add_argument("--uid", help=f"uid of the dashboard (default: the stack's, or {_UID})")
    parser.add_argument("--title", default=_TITLE, help=f"its title (default: {_TITLE})")
    parser.add_argument(
        "--pyroscope-uid",
        metavar="UID",
        help=f"uid of the Pyroscope data source (default: the stack's, or {_PYROSCOPE_UID})",
    )
    parser.add_argument(
        "--prometheus-uid",
        metavar="UID",
        help="uid of the Prometheus data source (default: the stack's; without one, the dashboard "
        "has no metrics)",
    )
    add_output(parser)


def _run(options: argparse.Namespace) -> Status:
    import json

    from dashboards import DashboardOptions, build

    uid, pyroscope, prometheus = _of_stack(options.stack) if options.stack else ("", "", "")
    model = build(
        DashboardOptions(
            uid=options.uid or uid or _UID,
            title=options.title,
            pyroscope_uid=options.pyroscope_uid or pyroscope or _PYROSCOPE_UID,
            prometheus_uid=options.prometheus_uid or prometheus or None,
        )
    )
    write(json.dumps(model, indent=2, sort_keys=True) + "\n", options.output)
    return Status.DONE


def _of_stack(stack: str) -> tuple[str, str, str]:
    """The uids of a stack's dashboard and its Pyroscope and Prometheus source (or empty)."""
    from operations import stack_outputs

    outputs = stack_outputs.read(stack)
    return (
        outputs.text("dashboardUrl").rstrip("/").rsplit("/", 1)[-1],
        outputs.text("dataSourceUids", "pyroscope"),
        outputs.document.text("dataSourceUids", "prometheus"),
    )


DASHBOARD = Verb(
    name="dashboard",
    summary="write the built-in dashboard as JSON, to import in Grafana or to build upon",
    usage="[options]",
    add_arguments=_add_arguments,
    run=_run,
    examples=(
        "--stack dev --output dashboard.json",
        "--pyroscope-uid local-pyroscope --prometheus-uid managed-prometheus",
    ),
)
