"""``python -m tests.dashboards.picture``: draw it; ``--check``: whether the file is in step."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from dashboards import DashboardOptions, build
from tests.dashboards import prometheus
from tests.dashboards.picture import night
from tests.dashboards.picture.answers import answers
from tests.dashboards.picture.draw import picture

FILE: Final = Path(__file__).parents[3] / "docs" / "users" / "images" / "dashboard.svg"


def drawn() -> str:
    """The picture; needs promtool and Prometheus."""
    dashboard = build(
        DashboardOptions(
            uid="gpu",
            title="GPU memory (dev)",
            pyroscope_uid="profiles",
            prometheus_uid="metrics",
        )
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        prometheus.serving(Path(folder), list(night.lines())) as server,
    ):
        return picture(dashboard, answers(server, dashboard))


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(prog="python -m tests.dashboards.picture")
    parser.add_argument("--output", type=Path, default=FILE)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    made = drawn()
    if options.check:
        return int(options.output.read_text(encoding="utf-8") != made)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
