"""Prints the built-in dashboard as JSON, for an import by hand: ``python -m dashboards``."""

import argparse
import json
import sys

from dashboards import DashboardOptions, build


def main(arguments: list[str] | None = None) -> int:
    """Print the dashboard for the given command line; the exit status is 0."""
    parser = argparse.ArgumentParser(
        prog="python -m dashboards",
        description="Print the GPU memory dashboard as JSON, to import in Grafana by hand.",
    )
    parser.add_argument("--uid", default="AdvancedGPUObservability", help="default: %(default)s")
    parser.add_argument(
        "--title", default="Advanced GPU Observability", help="default: %(default)s"
    )
    parser.add_argument(
        "--pyroscope", default="local-pyroscope", metavar="UID", help="default: %(default)s"
    )
    parser.add_argument(
        "--prometheus",
        metavar="UID",
        help="uid of the Prometheus data source; without it, the dashboard has no metrics",
    )
    given = parser.parse_args(arguments)
    options = DashboardOptions(
        uid=given.uid,
        title=given.title,
        pyroscope_uid=given.pyroscope,
        prometheus_uid=given.prometheus,
    )
    json.dump(build(options), sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
