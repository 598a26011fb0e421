"""How much is read at most, so that a hostile file costs an error and not the machine."""

MAX_FILE = 2**30
"""Bytes of a profile after decompression: about eight million samples of 45 frames."""
MAX_TABLES = 2**26
"""Bytes of everything in a pprof file but its samples; protobuf needs up to 25 times as much."""
MAX_SAMPLE = 2**20
"""Bytes of one sample: a stack of more than 100,000 frames is no stack."""
MAX_SAMPLES = 2**25
"""Samples of one profile."""
MAX_JSON = 2**27
"""Bytes of a flame graph as JSON; a server sends some 8,192 nodes, less than a hundredth of it."""
MAX_FRAMES = 2**23
"""Frames of a flame graph, once every node is written out as the stack that ends in it."""
