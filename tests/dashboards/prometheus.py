"""A real Prometheus: its rule tester for values, and its server for label queries."""

import json
import socket
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import httpx
import pytest

from tools.provide import PROMETHEUS, PROMTOOL, provide

DRIVER = "libcuda_mem_stats"
"""Scope of the driver's counters."""

Series = Mapping[str, str]
"""Values by series, in Prometheus' own notation for tests: ``0+10x5``, ``_``, ``stale``."""


def counter(kind: str, **labels: object) -> str:
    """A series of the agent; every label has a value of its own only where a test gives one."""
    known: dict[str, object] = {
        "cluster": "aks-dev",
        "k8s_namespace": "inference",
        "k8s_podname": "vllm-0",
        "pid": 41,
        "job": "gadget",
        "instance": "10.0.0.4:2224",
        "host_raw": 0,
        "comm": "python3",
        "otel_scope_name": DRIVER,
    }
    inner = ",".join(f'{name}="{value}"' for name, value in (known | labels).items())
    return f"mem_{kind}_bytes_total{{{inner}}}"


def assert_samples(
    folder: Path, series: Series, expression: str, at: str, expected: Mapping[str, float]
) -> None:
    """Evaluate ``expression`` on ``series`` (a sample a minute) and compare all it answers."""
    evaluated = {
        "expr": expression,
        "eval_time": at,
        "exp_samples": [{"labels": labels, "value": value} for labels, value in expected.items()],
    }
    run_promtool(
        folder / "expression.test.json",
        series,
        {"promql_expr_test": [evaluated]},
        about=f"{expression}\nat {at}:\n",
    )


def run_promtool(
    file: Path,
    series: Series,
    tests: Mapping[str, object],
    *,
    rule_files: Sequence[str] = (),
    about: str = "",
) -> None:
    """Run promtool's ``tests`` of the rules in ``rule_files`` on ``series`` (a sample a minute).

    They are written to ``file``, beside the rules; ``about`` goes before what promtool says.
    """
    document = {
        "rule_files": [*rule_files],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": values} for name, values in series.items()
                ],
                **tests,
            }
        ],
    }
    file.write_text(json.dumps(document))  # JSON is YAML
    done = subprocess.run(
        [str(provide(PROMTOOL)), "test", "rules", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{about}{done.stdout}{done.stderr}"


class Server:
    """The HTTP API of a running Prometheus."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, trust_env=False)

    def range(self, expression: str, start: float, end: float, step: int = 60) -> list[object]:
        data = self._get("query_range", query=expression, start=start, end=end, step=step)
        return cast("list[object]", data["result"])

    def instant(self, expression: str, at: float) -> list[object]:
        return cast("list[object]", self._get("query", query=expression, time=at)["result"])

    def label_values(self, label: str, selector: str, start: float, end: float) -> list[str]:
        """As Grafana asks for ``label_values(selector, label)``."""
        parameters = {"match[]": selector, "start": start, "end": end}
        return cast("list[str]", self._get(f"label/{label}/values", **parameters))

    def ready(self) -> bool:
        try:
            return self._client.get("/-/ready").is_success
        except httpx.TransportError:
            return False

    def close(self) -> None:
        self._client.close()

    def _get(self, path: str, **parameters: object) -> dict[str, object]:
        response = self._client.get(
            f"/api/v1/{path}", params={key: str(value) for key, value in parameters.items()}
        )
        assert response.is_success, response.text
        return response.json()["data"]


def values(matrix: Sequence[object]) -> list[float]:
    """All values of a range query's answer."""
    series = cast("Sequence[Mapping[str, Sequence[tuple[float, str]]]]", matrix)
    return [float(value) for one in series for _, value in one["values"]]


@contextmanager
def serving(folder: Path, samples: Sequence[str]) -> Generator[Server]:
    """A server whose storage holds ``samples`` (OpenMetrics lines with timestamps)."""
    storage = folder / "storage"
    storage.mkdir()
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    if samples:
        text = folder / "samples.txt"
        text.write_text("\n".join([*samples, "# EOF", ""]))
        subprocess.run(
            [
                str(provide(PROMTOOL)),
                *("tsdb", "create-blocks-from", "openmetrics", "-q"),
                *(str(text), str(storage)),
            ],
            check=True,
            capture_output=True,
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                str(provide(PROMETHEUS)),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={storage}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=output,
            stderr=output,
        )
    server = Server(f"http://127.0.0.1:{port}")
    try:
        for _ in range(600):
            if server.ready():
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        else:
            pytest.fail(f"Prometheus did not become ready:\n{log.read_text()}")
        yield server
    finally:
        server.close()
        process.terminate()
        process.wait(timeout=60)
