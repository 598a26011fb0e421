"""A simulated leak, for the demo: the stack's own alert rules on a real Prometheus.

The simulated workspace does not evaluate rules (its PromQL is a few lines); Prometheus' own rule
tester does, on the counters that an agent would export of a process that never frees. It also holds
the alert's texts, filled in here, against what Prometheus makes of them.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from simulator.values import JsonObject, as_object, as_objects, as_text, dig, text_map
from tools.provide import PROMTOOL, found

FIRES_AFTER_MINUTES: Final = 75
GB_PER_HOUR: Final = 3
ALERT: Final = "GpuMemoryLeak"
_OF: Final = {
    "cluster": "aks-dev",
    "k8s_namespace": "research",
    "k8s_podname": "notebook-0",
    "pid": "733",
}
_SCRAPED: Final = {
    "host_raw": "0",
    "job": "gadget",
    "instance": "10.0.0.4:2224",
    "otel_scope_name": "libcuda_mem_stats",
}


def fired(rules: Path) -> str:
    """What the demo says: the alert of ``rules`` as it fires, or why that is not shown.

    Raises:
        ValueError: Prometheus does not fire it so, with what it says.
    """
    promtool = found(PROMTOOL)
    if promtool is None:
        return "not shown: there is no promtool (Debian: apt-get install prometheus)"
    rule = _rule(rules)
    texts = {name: _filled(text) for name, text in text_map(rule.get("annotations")).items()}
    labels = {**_OF, **text_map(rule.get("labels"))}
    test = rules.with_suffix(".test.json")
    test.write_text(json.dumps(_document(rules, {"exp_labels": labels, "exp_annotations": texts})))
    done = subprocess.run(
        [str(promtool), "test", "rules", str(test)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ValueError(f"{done.stdout}{done.stderr}")
    return "\n".join(_lines(texts))


def _lines(texts: dict[str, str]) -> Iterator[str]:
    yield (
        f"{ALERT} fires {FIRES_AFTER_MINUTES} minutes after pod notebook-0 began to lose "
        f"{GB_PER_HOUR} GB an hour, and says:"
    )
    for name in ("summary", "command", "dashboard", "runbook_url"):
        if name in texts:
            yield f"  {name}: {texts[name]}"


def _rule(rules: Path) -> JsonObject:
    import yaml  # the rules' own format; in use by the demo only

    document = as_object(yaml.safe_load(rules.read_text()))
    (rule,) = [
        one
        for group in as_objects(document.get("groups"))
        for one in as_objects(dig(group, "rules"))
        if as_text(one.get("alert")) == ALERT
    ]
    return rule


def _filled(text: str) -> str:
    """A text of the alert's with the value and the labels in place."""
    filled = text.replace("{{ $value }}", f"{GB_PER_HOUR}")
    return re.sub(r"{{ \$labels\.(\w+) }}", lambda name: _OF[name[1]], filled)


def _document(rules: Path, expected: JsonObject) -> JsonObject:
    inner = ",".join(f'{name}="{value}"' for name, value in {**_OF, **_SCRAPED}.items())
    per_minute = GB_PER_HOUR * 10**9 // 60
    return {
        "rule_files": [str(rules.resolve())],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {
                        "series": f"mem_alloc_bytes_total{{{inner}}}",
                        "values": f"0+{per_minute}x120",
                    }
                ],
                "alert_rule_test": [
                    {
                        "eval_time": f"{FIRES_AFTER_MINUTES}m",
                        "alertname": ALERT,
                        "exp_alerts": [expected],
                    }
                ],
            }
        ],
    }
