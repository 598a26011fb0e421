"""How much is built while a profile is read: a hostile file costs an error, not the machine.

A file's size says little about what it costs: gzip packs a thousand bytes into one, and two bytes
of JSON are a list. So readers take from one budget what they build, before they build it. A file
of up to 100 kB stays below 512 MB and ten seconds; larger files may build more, in proportion.
"""

from flamegraphs.errors import NotAProfileError

MAX_FILE = 2**30
"""Bytes of a profile after decompression: about eight million samples of 45 frames."""
MAX_STACK = 2**17
"""Frames of one stack; no program nests calls deeper than that."""
_MEMORY = 9 * 2**25
_MEMORY_EACH = 24
"""Bytes for each byte of the file."""
_STEPS = 2**27
_STEPS_EACH = 128


class Budget:
    """What may still be built from one file, or from both of a comparison."""

    def __init__(self, size: int = 0) -> None:
        """``size`` is that of the file as it is stored, in bytes."""
        self._memory, self._steps = _MEMORY, _STEPS
        self.allow(size)

    def allow(self, size: int) -> None:
        """Let a file of ``size`` bytes, as it is stored, take its part."""
        self._memory += _MEMORY_EACH * size
        self._steps += _STEPS_EACH * size

    def take(self, what: str, *, memory: int = 0, steps: int = 0) -> None:
        """Take bytes of memory, and steps of some 20 ns, for ``what`` (said in the error).

        Raises `NotAProfileError` where less is left.
        """
        self._memory -= memory
        self._steps -= steps
        if self._memory < 0 or self._steps < 0:
            raise NotAProfileError(
                f"It is too large for what it holds: far more {what} than a file of its size has."
            )
