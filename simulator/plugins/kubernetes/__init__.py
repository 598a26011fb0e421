"""The ``kubernetes`` provider, as far as this project's programs use it, on simulated clusters.

Namespaces, workloads, PodMonitors and Helm releases, with the rules of pulumi-kubernetes 4.34:
naming, what replaces, waiting, unreachable clusters. What Helm does on the client's side (rendering
a chart) the simulated API server does; everything else is refused, never ignored.
"""
