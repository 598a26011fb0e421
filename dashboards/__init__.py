"""The Grafana dashboard as code, and dashboards of your own from a file. No network, no Pulumi.

:func:`build` makes the built-in dashboard; :func:`load_file` prepares one exported from Grafana.
Both return the plain JSON model. ``python -m gpuobs dashboard`` writes the built-in one.
"""

from dashboards.files import load_file
from dashboards.gpu_memory import build
from dashboards.options import DashboardOptions

__all__ = ["DashboardOptions", "build", "load_file"]
