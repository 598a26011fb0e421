"""The ground floor: what several rooms must agree on, spelled once.

Pure: no input or output, no Pulumi, no environment. The simulator does not use it: it keeps its own
literals, as the independent witness that ours are right.
"""
