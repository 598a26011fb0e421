"""Finds Grafana and its data source in the outputs of a Pulumi stack."""

from flamegraphs.sources import grafana
from flamegraphs.sources.pyroscope import Server
from operations import stack_outputs


def server(stack: str) -> Server:
    """Return the Pyroscope that a stack has installed.

    Raises `operations.errors.OperationError` where the outputs cannot be read or miss something.
    """
    outputs = stack_outputs.read(
        stack, instead="name Grafana with --grafana and its source with --data-source"
    )
    return grafana.server(
        outputs.text("grafanaEndpoint"),
        outputs.text("dataSourceUids", "pyroscope"),
        outputs.document.text("signalCheck", "tokenVariable") or None,
    )
