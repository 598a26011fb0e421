"""Settings by example, for the reference: each is the change of a stack file for one wish."""

from contract.agent import PYROSCOPE_PORT
from contract.azure import grafana_id

_ELSEWHERE = grafana_id("99999999-9999-4999-8999-999999999999", "rg-shared", "grafana-shared")

EXAMPLES: tuple[tuple[str, str], ...] = (
    (
        "Spot nodes that scale with the workload",
        """\
gpuobs:gpuPool:
  autoscaling: { min: 0, max: 4 }
  spot: {}
""",
    ),
    (
        "The cluster has a GPU pool already",
        """\
gpuobs:gpuPool:
  enabled: false
""",
    ),
    (
        "Grafana in another subscription of the same tenant",
        f"""\
gpuobs:grafana:
  existing: {{ id: {_ELSEWHERE} }}
""",
    ),
    (
        "A Grafana of your own, in the cluster or elsewhere, with a token in GPUOBS_GRAFANA_TOKEN",
        """\
gpuobs:grafana:
  selfHosted: { url: https://grafana.example.org }
""",
    ),
    (
        "A Pyroscope of your own, without TLS and credentials, that Grafana shows already",
        f"""\
gpuobs:pyroscope:
  existing:
    url: http://pyroscope.monitoring.svc.cluster.local:{PYROSCOPE_PORT}
    dataSource: central-pyroscope
""",
    ),
    (
        "The GPU Operator installs driver and device plugin",
        """\
gpuobs:gpuPool:
  driver: None
  devicePlugin: false
""",
    ),
    (
        "Profiles that survive a restart of Pyroscope",
        """\
gpuobs:pyroscope:
  storage: { disk: { size: 100Gi } }
  resources: { requests: { cpu: 1, memory: 4Gi }, limits: { memory: 8Gi } }
""",
    ),
    (
        "Profiles that last: in Azure Blob Storage, for 90 days",
        """\
gpuobs:pyroscope:
  storage: { blob: {}, retention: 90d, lossWindow: 40m }
""",
    ),
    (
        "A container of your own for them",
        """\
gpuobs:pyroscope:
  storage:
    blob: { existing: { account: profiles1, resourceGroup: rg-shared, container: profiles } }
""",
    ),
    (
        "More than one server can hold ([when, and what it costs](scaling.md))",
        """\
gpuobs:pyroscope:
  storage: { blob: {} }
  mode: distributed
  components:
    ingester: { replicas: 6 }
""",
    ),
    (
        "A cluster that reaches no public registry but Microsoft's "
        "([what to mirror](operating.md#images-from-a-registry-of-your-own))",
        """\
gpuobs:registry:
  prefix: example.azurecr.io
""",
    ),
    (
        "The cluster's node resource group is locked",
        """\
gpuobs:pyroscope:
  privateLink: { resourceGroup: rg-private-links }
""",
    ),
    (
        "A Prometheus of your own, or no metrics at all (leave the section out)",
        """\
gpuobs:prometheus:
  url: https://prometheus.example.com
""",
    ),
    (
        "Somebody is notified of leaks and failures ([Alerts](alerts.md))",
        """\
gpuobs:prometheus:
  azureMonitorWorkspace: { existing: { name: amw-dev, resourceGroup: rg-dev } }
gpuobs:alerts:
  email: [oncall@example.com]
  rules: { leak: { threshold: 2 }, nearCapacity: { enabled: true } }
""",
    ),
    (
        "A pinned version of the agent, and its settings",
        """\
gpuobs:inspektorGadget:
  version: "0.54.1"
  autoUpgrade: false
  settings: { inspektor-gadget.config.daemonLogLevel: debug }
""",
    ),
    (
        "A team that may view the dashboard",
        """\
gpuobs:grafana:
  folder: GPU memory
  roleAssignments:
    - principalId: 00000000-0000-0000-0000-000000000000
      principalType: Group
      role: Viewer
""",
    ),
)
"""Title and YAML; a test reads every one of them."""
