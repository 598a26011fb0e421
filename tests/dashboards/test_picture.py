"""The picture in the documentation: in step with the dashboard, true to what it is drawn from."""

import re

import pytest

from dashboards import DashboardOptions, build
from tests.dashboards.grafana import objects
from tests.dashboards.picture.__main__ import FILE, drawn

pytestmark = pytest.mark.prometheus


@pytest.fixture(scope="module")
def made() -> str:
    return drawn()


def words(picture: str) -> list[str]:
    """What stands in it, without numbers: those of two releases of Prometheus may differ a bit."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    return [re.sub(r"[-+]?\d[\d.,e:+-]*", "#", one) for one in texts]


def test_the_picture_in_the_documentation_is_in_step(made: str) -> None:
    assert words(FILE.read_text(encoding="utf-8")) == words(made), (
        "draw it again: python -m tests.dashboards.picture"
    )


def test_every_panel_is_in_it(made: str) -> None:
    dashboard = build(
        DashboardOptions(uid="gpu", title="GPU", pyroscope_uid="f", prometheus_uid="p")
    )
    for panel in objects(dashboard["panels"]):
        assert f"{panel['title']}</text>" in made


def test_it_shows_the_process_that_died_what_it_held_and_that_it_was_started_again(
    made: str,
) -> None:
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", made)
    ended = texts[texts.index("Processes that ended in this range") :]
    assert ended[ended.index("1337") + 1 :][:2] == ["77.7 GiB", "2026-11-30 02:09:00"]
    restarted = texts[texts.index("Containers that Kubernetes restarted in this range") :]
    assert restarted[restarted.index("Error") + 1 :][:2] == ["1", "2026-11-30 02:12:00"]
    gpus = texts[texts.index("GPUs") :]
    assert "56.7%" in gpus[gpus.index("trainer-0") :]
