"""Real parts that tests run, and what happens where a machine lacks one.

A test names its parts with markers (``@pytest.mark.browser``). Where a part can neither be found
nor be provided, its tests are not run, and the last line of the output says how many of what were
not run, and what to install. With ``GPUOBS_TEST_EVERYTHING=1``, as the gate sets it, such a test
fails instead, unless its part is none of the gate's. No other skip is taken: it is a failure, for
it would hide behind these.

A pytest plugin; ``tests/conftest.py`` loads it.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache
from typing import Final

import pytest

from tools.provide import AZURE_CLI, SETS, can_be_built, found

EVERYTHING: Final = "GPUOBS_TEST_EVERYTHING"
_PROPERTY: Final = "part not there"
_GO: Final = "Go 1.26 or newer (https://go.dev/dl/)"
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True, kw_only=True)
class Part:
    """Something real that is not a Python package."""

    where: str
    """Completes "12 tests ..."."""
    install: str
    """What to install, and how."""
    is_there: Callable[[], bool]
    in_gate: bool = True
    """Whether the gate must have it: what takes long to install is run where somebody has it."""


def _on_path(*names: str) -> Callable[[], bool]:
    return lambda: any(map(shutil.which, names))


def _provided(name: str) -> Callable[[], bool]:
    """Whether the set ``name`` of ``scripts/tools`` is there, or can be built when it is needed."""
    return lambda: all(can_be_built(tool) or found(tool) is not None for tool in SETS[name])


PARTS: Final = {
    "kubernetes": Part(
        where="on real Kubernetes API servers", install=_GO, is_there=_provided("kubernetes")
    ),
    "prometheus": Part(where="on a real Prometheus", install=_GO, is_there=_provided("prometheus")),
    "go": Part(where="with the Go toolchain", install=_GO, is_there=_on_path("go")),
    "browser": Part(
        where="in a real browser",
        install="Chromium (Debian, Ubuntu: apt-get install chromium)",
        is_there=_on_path(*CHROMIUM),
    ),
    "strace": Part(
        where="of every address called",
        install="strace (Linux only; Debian, Ubuntu: apt-get install strace)",
        is_there=_on_path("strace"),
    ),
    "clients": Part(where="with kubectl and Helm", install=_GO, is_there=_provided("clients")),
    "azcli": Part(
        where="with the Azure CLI",
        install="the Azure CLI (scripts/tools azcli: a minute and 370 MB, once)",
        is_there=lambda: found(AZURE_CLI) is not None,
        in_gate=False,
    ),
}
"""By marker, in the order in which they are looked for."""


@cache
def _is_missing(name: str) -> bool:
    return not PARTS[name].is_there()


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    for name, part in PARTS.items():
        config.addinivalue_line("markers", f"{name}: runs {part.where}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture: does the machine have what the test runs?"""
    marked = [name for name in PARTS if item.get_closest_marker(name) is not None]
    name = next(filter(_is_missing, marked), None)
    if name is None:
        return
    needs = f"a part of this test is not on this machine. Install {PARTS[name].install}"
    if os.environ.get(EVERYTHING) and PARTS[name].in_gate:
        pytest.fail(f"{needs} ({EVERYTHING} is set)", pytrace=False)
    item.user_properties.append((_PROPERTY, name))
    pytest.skip(needs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn every other skip into a failure; an expected failure is none."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and not _parts_of(report):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped ({call.excinfo}): only tests/parts.py may"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """The closing line, after all that pytest itself says."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    counts = Counter(
        name for report in reporter.stats.get("skipped", []) for name in _parts_of(report)
    )
    if counts:
        reporter.write_line(closing_line(counts))


def _parts_of(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == _PROPERTY]


def closing_line(counts: Counter[str]) -> str:
    """How many tests of what were not run, and what to install."""
    missing = [name for name in PARTS if counts[name]]
    total = counts.total()
    what = ", ".join(f"{counts[name]} {PARTS[name].where}" for name in missing)
    install = "; ".join(dict.fromkeys(PARTS[name].install for name in missing))
    were = "test was" if total == 1 else "tests were"
    return f"{total} {were} not run: {what}. To run everything, install: {install}."
