"""A simulated leak, for the demo: the stack's own alert rules on a real Prometheus.

The simulated workspace does not evaluate rules (its PromQL is a few lines); Prometheus' own rule
tester does, on the counters that an agent would export of a process that never frees.
"""

import json
import subprocess
from pathlib import Path
from typing import Final

from tools.provide import PROMTOOL, found

FIRES_AFTER_MINUTES: Final = 75
GB_PER_HOUR: Final = 3
ALERT: Final = "GpuMemoryLeak"
_SERIES: Final = (
    'mem_alloc_bytes_total{cluster="aks-dev",k8s_namespace="research",k8s_podname="notebook-0",'
    'pid="733",host_raw="0",job="gadget",instance="10.0.0.4:2224",'
    'otel_scope_name="libcuda_mem_stats"}'
)


def told(rules: Path) -> str:
    """What the demo says: that the alert of ``rules`` fires, or why that is not shown.

    Raises:
        ValueError: Prometheus does not fire it, with what it says.
    """
    promtool = found(PROMTOOL)
    if promtool is None:
        return "not shown: there is no promtool (Debian: apt-get install prometheus)"
    per_minute = GB_PER_HOUR * 10**9 // 60
    document = {
        "rule_files": [str(rules.resolve())],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": _SERIES, "values": f"0+{per_minute}x120"}],
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{ALERT}",alertstate="firing"}})',
                        "eval_time": f"{FIRES_AFTER_MINUTES}m",
                        "exp_samples": [{"labels": "{}", "value": 1}],
                    }
                ],
            }
        ],
    }
    test = rules.with_suffix(".test.json")
    test.write_text(json.dumps(document))
    done = subprocess.run(
        [str(promtool), "test", "rules", str(test)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ValueError(f"{done.stdout}{done.stderr}")
    return (
        f"{ALERT} fires {FIRES_AFTER_MINUTES} minutes after pod notebook-0 began to lose "
        f"{GB_PER_HOUR} GB an hour"
    )
