"""The product's rooms: the top-level packages that are not the simulator, tools or tests."""

from typing import Final

PRODUCT: Final = (
    "alerts",
    "components",
    "contract",
    "dashboards",
    "flamegraphs",
    "gpuobs",
    "infra",
    "memory",
    "operations",
)
