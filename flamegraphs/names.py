"""How frames are named, and what kind of frame a name tells of.

The agent writes one method in several spellings, depending on its version: ``Foo > bar``,
``Foo / bar``, ``Foo → bar`` and ``Foo.bar``; some versions put a frame's number before it. They
become one, ``Foo.bar``, so that a function is one row however it was recorded. Names of other
languages are left exactly as they are.

Not here: demangling, or finding the symbol of an address; both belong to the agent.
"""

import re
from enum import IntEnum


class Kind(IntEnum):
    """What a frame's name says of the code behind it."""

    NAMED = 0
    """A function somebody can look up and change."""
    NATIVE = 1
    """An address or an offset in a library: code without a symbol."""
    TRAMPOLINE = 2
    """CPython's own overhead between two Python calls."""
    UNKNOWN = 3
    """No name at all."""
    TRUNCATED = 4
    """What a server cut from its answer (``other`` in Pyroscope's flame graphs); no function."""


NO_STACK = "<no stack>"
"""The frame given to a sample that came without any location: its bytes still count."""
UNKNOWN_NAME = "<unknown>"

_TRAMPOLINES = frozenset(
    {
        "<interpreter trampoline>",
        "<trampoline>",
        "[trampoline]",
        "interpreter trampoline",
        "<shim>",
        "<interpreter entry>",
    }
)
_UNKNOWN = frozenset(
    {"", NO_STACK, UNKNOWN_NAME, "[unknown]", "unknown", "(unknown)", "??", "?", "<none>"}
)
_FRAME_NUMBER = re.compile(r"(?:\[\d+\]\s*)+(?=\S)(?!\Z)")
_OFFSET = re.compile(r"\+0[xX][0-9a-fA-F]+(?P<size>/0[xX][0-9a-fA-F]+)?\Z")
_LONGEST = 2**14
"""Characters: a name beyond is left as it is, whatever it says."""

_NATIVE = re.compile(
    r"""
      0[xX][0-9a-fA-F]+                                # 0x7f151
    | [0-9a-fA-F]{12,16}                               # an address without its prefix
    | \[?                                              # perf's [libcuda.so.1]
      (?: \S*/ )?                                      # the path of a library
      [^\s/\[\]]+ \.so (?:\.[0-9]+)*                   # libcuda.so.535.104
      (?: \ \(deleted\) )?
      \]?
      (?: \s*[+@:]\s*(?:0[xX])?[0-9a-fA-F]+ )?         # +0x1f3
    | (?: \S*/ )? [^\s/\[\]]* \+ 0[xX][0-9a-fA-F]+     # python3.11+0x12af, /usr/bin/x+0x1
    | \[ (?: vdso | vsyscall | heap | stack | anon | jit | kernel ) \]
      (?: \+ 0[xX][0-9a-fA-F]+ )?
    """,
    re.VERBOSE,
)

# A separator counts only between two Python names: `std::vector<std::pair<int, int> >` and
# `/usr/lib / x` keep theirs.
_WORD = r"(?:[^\W\d]\w*|<(?:module|lambda|locals|listcomp|genexpr|dictcomp|setcomp)>)"
_QUALIFIED = rf"{_WORD}(?:\.{_WORD})*"
_SPELLED_OUT = re.compile(rf"{_QUALIFIED}(?:(?:\s+[>/]\s+|\s*→\s*){_QUALIFIED})+")
_SEPARATOR = re.compile(r"\s+[>/]\s+|\s*→\s*")


def normalise(name: str) -> str:
    """Return the one spelling of ``name``; idempotent.

    >>> normalise("[3] GPUModelRunner > initialize_kv_cache")
    'GPUModelRunner.initialize_kv_cache'
    >>> normalise("std::map<int, std::vector<int> >")
    'std::map<int, std::vector<int> >'
    """
    # Most names have none of these, and this runs once for each of tens of thousands.
    if " " not in name and "→" not in name and "+0" not in name and not name.startswith("["):
        return name
    name = name.strip()
    if len(name) > _LONGEST:
        return name
    if number := _FRAME_NUMBER.match(name):
        name = name[number.end() :]
    if (offset := _OFFSET.search(name)) and _is_symbol(name[: offset.start()], offset["size"]):
        name = name[: offset.start()]
    if (" " in name or "→" in name) and _SPELLED_OUT.fullmatch(name):
        return _SEPARATOR.sub(".", name)
    return name


def _is_symbol(name: str, size: str | None) -> bool:
    """Tell ``do_syscall_64+0x5b`` from ``python3.11+0x12af``, where the name is a file's.

    The kernel writes a symbol's size behind the offset; otherwise only a name that files hardly
    have is a symbol's.
    """
    if "/" in name or ".so" in name or not name or name[0] in "[.0123456789":
        return False
    return bool(size) or "::" in name or "(" in name or ("_" in name and "." not in name)


def kind_of(name: str) -> Kind:
    """Classify a name as `normalise` returns it."""
    if name in _UNKNOWN:
        return Kind.UNKNOWN
    if name in _TRAMPOLINES:
        return Kind.TRAMPOLINE
    # Most names are none of these at a glance; the pattern takes a hundred times as long.
    if not (name[0] in "0[" or "+0" in name or ".so" in name or 12 <= len(name) <= 16):
        return Kind.NAMED
    if len(name) > _LONGEST:
        return Kind.NAMED
    if _NATIVE.fullmatch(name):
        return Kind.NATIVE
    return Kind.NAMED
