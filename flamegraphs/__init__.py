"""Reads profiles of GPU memory allocations: who allocates, what grew, and a flame graph to look at.

The command line is ``python -m flamegraphs``. Inside, every file format and every server's answer
becomes one model (`profile`), and every report is computed from it. Never imports Pulumi; Azure and
Grafana appear in `sources` only.
"""
