"""A picture of the dashboard, drawn from its own JSON and from what its queries answer.

There is no Grafana here: :mod:`~tests.dashboards.picture.night` makes the data (the simulated
workloads, and one that runs out of memory), :mod:`~tests.dashboards.picture.answers` asks a real
Prometheus and the simulated Pyroscope for every panel as Grafana would, and
:mod:`~tests.dashboards.picture.draw` draws what they answer at the places that the JSON gives.
"""
