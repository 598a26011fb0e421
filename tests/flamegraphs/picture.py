"""Takes the picture of the flame graph that the documentation shows.

    python -m tests.flamegraphs.picture [FILE]

It shows the profile of the simulated inference service, in the page that users get.
"""

import sys
import tempfile
from pathlib import Path

from tests.flamegraphs.browser import browser
from tests.flamegraphs.command import ROOT, flamegraphs
from tests.flamegraphs.server import NEW_TYPE, pyroscope, serving

PICTURE = ROOT / "docs" / "users" / "images" / "flame-graph.png"


def take(picture: Path, *, dark: bool = False, search: str = "") -> None:
    """Render the profile, open it in the browser and write what is seen as PNG."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "flame.html"
        with serving(pyroscope((NEW_TYPE, -1_800.0, None))) as (url, _):
            done = flamegraphs(
                *("render", "--pyroscope", url, "--namespace", "inference", "-o", str(page)),
                *("--title", "GPU memory allocated by inference"),
            )
        if done.status:
            raise SystemExit(done.error)
        with browser(Path(folder) / "profile") as seen:
            seen.show(1440, 1000, dark=dark)
            seen.open(page.as_uri())
            if search:
                seen.press("/")
                seen.type(search)
            seen.screenshot(picture)


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
