"""Reads profiles of GPU memory allocations: who allocates, what grew, and a flame graph to look at.

The command line is ``python -m flamegraphs``. Inside, every file format and every server's answer
becomes one model (`profile`), and every report is computed from it. Never imports Pulumi; Azure and
Grafana appear in `sources` only.
"""

import os

# Importing numpy starts a thread for each core, for algebra (OpenBLAS), and they spin for about as
# long as it takes to read a small file. No algebra is done here.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
