"""Where the GPU's memory went: the ledger, and the verdict in plain language.

Three sources say something about it: the device what is used, the agent's counters what processes
hold, and the profiles which functions allocated it. :mod:`memory.reading` asks Prometheus,
:mod:`memory.ledger` adds up what may be added, :mod:`memory.verdict` says what it means. Only
:mod:`memory.metrics` reaches the network.
"""
