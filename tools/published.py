"""What published releases of Pyroscope and of its chart read, as data files.

    python -m tools.published FOLDER_OF_A_CLONE

From the tags of a clone of github.com/grafana/pyroscope it writes, twice (the program and the
simulator each keep their own, and neither reads the other's):

- ``chart-<version>.json``: the tree of values that the templates of the chart read. A key whose
  value is null is read whole, whatever is below it; in a mapping, only what is named is read.
- ``server-<version>.json``: the tree of keys of the server's configuration file and the list of its
  flags, from the reference and the usage text that its build generates, from that release on until
  the next file. ``hidden`` are the keys that the reference leaves out, somewhere in a section.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = (ROOT / "infra/settings/published", ROOT / "simulator/kubernetes/published")
CHARTS = (
    *("1.15.0", "1.15.1", "1.16.0", "1.17.0", "1.18.0", "1.18.1", "1.19.0", "1.19.1", "1.19.2"),
    *("1.20.2", "1.20.3", "1.21.0"),
)
"""Every release of the chart from 1.15 to before 2.0."""
SERVERS = ("1.15.0", "1.19.0")
"""Releases from 1.15 to before 1.20 whose reference or usage differs from that before."""
_CHART = "operations/pyroscope/helm/pyroscope"
_REFERENCE = "docs/sources/configure-server/reference-configuration-parameters/index.md"
_USAGE = "cmd/pyroscope/help-all.txt.tmpl"
_CONFIG = "pkg/pyroscope/pyroscope.go"

Tree = dict[str, "Tree | None"]


class Clone:
    """A clone of the repository, read by tag."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", self._folder, *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout

    def text(self, tag: str, path: str) -> str:
        """A file as of ``tag``."""
        found = self._git("show", f"{tag}:{path}")
        if not found:
            raise SystemExit(f"{path} is not there as of {tag}")
        return found

    def files(self, tag: str, folder: str) -> list[str]:
        """The paths below ``folder``."""
        return self._git("ls-tree", "-r", "--name-only", tag, "--", folder).split()

    def hidden(self, tag: str, *, limits: bool) -> list[str]:
        """Keys that the reference leaves out: limits, which are JSON too, or others."""
        pattern = r'yaml:"[a-z0-9_]+[^`]*doc:"[^"]*hidden'
        lines = self._git("grep", "-h", "-o", "-E", pattern, tag, "--", "pkg/*.go").splitlines()
        return sorted({line.split('"')[1] for line in lines if ("json:" in line) is limits})


# --- the chart ---------------------------------------------------------------------------------

_READ = re.compile(
    r"(?P<of>\.Values|\$values|\$persistence|\$pdb)(?P<guarded>\))?(?P<path>(\.\w+)+)"
)
_ROOTS = {
    ".Values": "",
    "$values": "pyroscope",
    "$persistence": "pyroscope.persistence",
    "$pdb": "pyroscope.podDisruptionBudget",
}
_GUARDED = re.compile(r"\((\$values\.\w+)\)\.(\w+)")
_WHOLE = ("serviceMonitor", "ingress", "httpRoute")
"""Read in ways that dotted paths do not show."""
_SUBCHARTS = ("agent", "alloy", "minio")
_COMPUTED = ("kind", "name")
"""Read beside the values, of the component that the template makes up."""


def chart_values(clone: Clone, version: str) -> Tree:
    """The values that a release of the chart reads."""
    tag = f"pyroscope-{version}"
    tree: Tree = {}
    for path in clone.files(tag, f"{_CHART}/templates"):
        text = _GUARDED.sub(r"\1.\2", clone.text(tag, path))
        for match in _READ.finditer(text):
            root = _ROOTS[match["of"]]
            _add(tree, (root + match["path"]).lstrip(".").split("."))
    below = tree["pyroscope"] or {}
    for name in _COMPUTED:
        below.pop(name, None)
    for name in _SUBCHARTS:
        tree[name] = None
    below["components"] = None
    for name in _WHOLE:
        if name in tree:
            tree[name] = None
    return tree


def _add(tree: Tree, path: list[str]) -> None:
    first, *rest = path
    below = tree.setdefault(first, None)
    if rest:
        if below is None:
            below = tree[first] = {}
        _add(below, rest)


# --- the server --------------------------------------------------------------------------------

_KEY = re.compile(r"(?P<indent> *)(?P<leaf>\[)?(?P<name>[a-z][\w-]*):( *<(?P<type>\w+)>)?")


def configuration(clone: Clone, version: str) -> Tree:
    """The keys of the configuration file."""
    text = clone.text(f"v{version}", _REFERENCE)
    blocks = dict(_blocks(text))
    root = _read(blocks[""], blocks)
    for name in re.findall(r'yaml:"([a-z_]+)"\s+doc:"hidden"', clone.text(f"v{version}", _CONFIG)):
        root.setdefault(name, None)
    limits = root["limits"] or {}
    limits.update(dict.fromkeys(clone.hidden(f"v{version}", limits=True)))
    return _open(root)


def _open(tree: Tree) -> Tree:
    """``tree`` in which a mapping of which nothing is named holds anything."""
    return {name: _open(below) if below else None for name, below in tree.items()}


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """The YAML of each block; that of the whole file has no name."""
    name, inside, lines = "", False, list[str]()
    seen = set[str]()
    for line in text.splitlines():
        if line.startswith("### "):
            name = line.removeprefix("### ").strip()
        elif line.startswith("```yaml"):
            inside, lines = True, []
        elif line.startswith("```") and inside:
            inside = False
            if name not in seen:
                seen.add(name)
                yield name, lines
        elif inside:
            lines.append(line)


def _read(lines: Iterable[str], blocks: dict[str, list[str]]) -> Tree:
    root: Tree = {}
    stack: list[tuple[int, Tree]] = [(-1, root)]
    for line in lines:
        match = _KEY.match(line)
        if match is None or line.lstrip().startswith("#"):
            continue
        indent = len(match["indent"])
        while stack[-1][0] >= indent:
            stack.pop()
        parent = stack[-1][1]
        if not match["leaf"]:
            below: Tree = {}
            parent[match["name"]] = below
            stack.append((indent, below))
        elif match["type"] in blocks:
            parent[match["name"]] = _read(blocks[match["type"]], blocks)
        else:
            parent[match["name"]] = None
    return root


def flags(clone: Clone, version: str) -> list[str]:
    """The flags."""
    return sorted(re.findall(r"^  -(\S+)", clone.text(f"v{version}", _USAGE), re.MULTILINE))


# --- writing -----------------------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    """Write every file."""
    clone = Clone(arguments[0])
    files: dict[str, object] = {
        f"chart-{version}.json": chart_values(clone, version) for version in CHARTS
    }
    for version in SERVERS:
        files[f"server-{version}.json"] = {
            "configuration": configuration(clone, version),
            "flags": flags(clone, version),
            "hidden": clone.hidden(f"v{version}", limits=False),
        }
    for folder in TARGETS:
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            text = json.dumps(content, sort_keys=True, separators=(",", ":"))
            (folder / name).write_text(f"{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
