"""What is drawn as a file that a person wrote; docs/maintainers/faults.md gives the numbers."""

from typing import Final

from hypothesis import strategies as st

EXAMPLES: Final = 100
"""Files that each property is tried with."""
DEPTHS: Final = (50, 400, 2_000)
DEEPEST: Final = max(DEPTHS)
DEEP: Final = tuple(
    opening * depth + closing * depth
    for depth in DEPTHS
    for opening, closing in (("[", "]"), ('{"a":', "}"), ("- ", ""))
)
"""Documents that are nested deeper than any that a person means."""
NESTED: Final = 4 * len(DEEP)
"""Each is a chart's description, a part of a dashboard, of a section and of the project file."""
WORDS: Final = (
    *("{", "}", "[", "]", ":", ": ", "- ", "\n", "  ", "'", '"', ",", "&a ", "*a", "<<: ", "!!"),
    *("? ", "|", ">", "#", "%", "---", "...", "null", "~", "true", "1e999", ".nan", "2024-13-45"),
    *("name", "version", "type", "dependencies", "config", "gpuobs:cluster", "value", "panels"),
    *("\0", "\ud800", "\u202e", "\ufeff", "0x", "1:2:3", "!!binary ", "!!python/object:os.system "),
)
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=25).map("".join)
"""What looks like YAML or JSON, and often is none."""
files = st.binary(max_size=200) | texts.map(lambda text: text.encode(errors="surrogatepass"))
damages = st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 255)), min_size=1, max_size=8)
"""Places in a file, and the bytes that are there in place of its own."""
