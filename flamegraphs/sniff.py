"""Tells what a file seems to be from how it begins, before anything else is made of it.

People name the wrong file, or get a sign-in page for the one they asked for. They are shown what
they have, in one line, and what can be done with it. Not here: reading any of it (`formats`).
"""

import re
from enum import Enum, auto

HEAD = 4096
"""Bytes from the beginning that are looked at."""

SUPPORTED = (
    "Supported formats: pprof, folded stacks, Pyroscope's flame graph JSON, speedscope, PyTorch "
    "memory snapshots, Grafana data frames, OTLP profiles, memray's csv and gprof2dot, perf script."
)
"""A sentence for messages."""


class Format(Enum):
    """What can be read, by the way it begins."""

    PPROF = auto()
    OTLP = auto()
    PICKLE = auto()
    JSON = auto()
    MEMRAY_CSV = auto()
    PERF_SCRIPT = auto()
    FOLDED = auto()


_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"\xcf\xfa\xed\xfe", "a program or library (Mach-O)"),
    (b"MZ", "a program or library (Windows)"),
    (b"SQLite format 3\0", "a SQLite database (an Nsight Systems export?)"),
    (b"PERFILE2", "perf.data, which `perf script` turns into text that is read"),
    (b"memray\0", "memray's own recording; `memray transform csv FILE` makes what is read"),
    (b"MOJ", "austin's binary format; `austin2speedscope` or `mojo2austin` makes what is read"),
    (b"FLR\0", "a Java Flight Recorder file"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first (`zstd -d`)"),
    (b"\xfd7zXZ\0", "compressed with xz; unpack it first (`xz -d`)"),
    (b"BZh", "compressed with bzip2; unpack it first (`bunzip2`)"),
    (
        b"\x04\x22\x4d\x18",
        "compressed with lz4; unpack it first, or if memray recorded it, `memray transform csv "
        "FILE` makes what is read",
    ),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"\x1f\x8b", "compressed with gzip twice; unpack it once (`gunzip`)"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"{\\rtf", "an RTF document"),
    (b"#!", "a script"),
)
_MARKUP = re.compile(
    rb"<(?:!doctype|html|head|body|script|!--|\?xml|svg)\b|<[a-z][\w.:-]*[^<>;]*>\s*<", re.I
)
_SIGN_IN = re.compile(rb"sign[ -]?in|log[ -]?in|password|saml|oauth|login\.microsoftonline", re.I)
_LEGACY = re.compile(
    rb"(?:heap|heapz|contention|mutex|goroutine|threadcreate|allocs)[ a-z_v0-9]*(?: profile)?: "
    rb"|--- (?:heap|contention|mutex|cpu)[a-z]* ?---?|# runtime\.MemStats"
)
_TEXTS = (
    (
        re.compile(rb"(?m)^#\s+(?:Overhead|Children\s+Self)\s+\S.*\n#\s*\.\.\."),
        "perf's report, whose figures are rounded; `perf script` writes what is read",
    ),
    (
        re.compile("\\A\\s*\N{STRAIGHT RULER} Total allocations:".encode()),
        "memray's statistics, without stacks; `memray transform csv FILE` makes what is read",
    ),
    (
        re.compile(
            "\\A\\s*\N{BOX DRAWINGS HEAVY DOWN AND RIGHT}\N{BOX DRAWINGS HEAVY HORIZONTAL}".encode()
        ),
        "a table drawn for a terminal (memray's summary?)",
    ),
    (re.compile(rb"\A\s*\x1b\[\?\d+[hl]"), "what a program drew on a terminal's screen"),
)
"""What programs that measure write for people to read."""
_PERF = re.compile(
    rb"\S.*?\s+\d+(?:/\d+)?(?:\s+\[\d+\])?\s+(?:\d+\.\d+:\s+)?(?:\d+\s+)?[\w\-:./]+:\S*\s*"
)
_PERF_FRAME = re.compile(rb"\s+[0-9a-f]{1,16}\s+\S")
MEMRAY_HEADER = b"allocator,num_allocations,size,tid,thread_name,stack_trace"


def foreign(head: bytes) -> str | None:
    """What a file that begins like this seems to be, where it is surely nothing that is read."""
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it first"
    if not head.strip(b"\0") and head:
        return "nothing but zero bytes"
    start = head.lstrip()
    if _MARKUP.match(start):
        if re.match(rb"<(!doctype html|html|head|body|script)", start, re.I):
            if b"<title>memray" in head:
                return "a page that memray made; `memray transform csv` makes what is read"
            sign_in = " (a sign-in page?)" if _SIGN_IN.search(head) else ""
            return f"a web page{sign_in}"
        return "an SVG picture" if b"<svg" in start[:500] else "an XML document"
    if _LEGACY.match(start):
        return "a profile in pprof's old text format; `go tool pprof -proto` makes what is read"
    return next((what for pattern, what in _TEXTS if pattern.search(head)), None)


def format_of(head: bytes) -> Format | None:
    """Which reader a file is for that is not `foreign`; None where no reader takes it."""
    if not is_text(head):
        if head[0] == 0x80 and head[1:2] <= b"\x05":
            return Format.PICKLE
        # Fields 1 to 14 of a message, each by its number and kind.
        if head[0] & 7 in (0, 1, 2, 5) and 0 < head[0] >> 3 <= 14:
            return Format.OTLP if _is_otlp(head) else Format.PPROF
        return None
    start = head.lstrip()
    if re.match(rb'\{\s*["}]|\[\s*[\[{"\]]|\{\s*$|\[\s*$', start) and not _folded_line(start):
        return Format.JSON
    if start.startswith(MEMRAY_HEADER):
        return Format.MEMRAY_CSV
    lines = [line for line in start.splitlines() if line.strip() and not line.startswith(b"#")]
    if len(lines) > 1 and _PERF.match(lines[0]) and _PERF_FRAME.match(lines[1]):
        return Format.PERF_SCRIPT
    return Format.FOLDED


def table_of(head: bytes) -> str | None:
    """What text that is no stack seems to be: a table by its first lines, or None."""
    lines = head.strip().splitlines()[:5]
    if not lines or b";" in lines[0]:
        return None
    for separator, what in ((b",", "a table (CSV)"), (b"\t", "a table (tab-separated)")):
        counts = {line.count(separator) for line in (lines[:-1] if len(head) == HEAD else lines)}
        if len(counts) == 1 and counts.pop() > 0:
            return what
    return None


def is_text(head: bytes) -> bool:
    """Tell text from pprof, whose first fields always hold small numbers."""
    return all(byte >= 32 or byte in b"\t\n\r\f\x1b" for byte in head)


def _folded_line(start: bytes) -> bool:
    """Whether a line that begins like JSON ends as a stack does: PHP has ``{closure};f 12``."""
    line = start.split(b"\n", 1)[0].rstrip()
    stack, _, count = line.rpartition(b" ")
    return (
        count.isdigit()
        and (b";" in stack or (b'"' not in stack and b":" not in stack))
        and not (stack.rstrip().endswith((b",", b"[", b":")))
    )


def _is_otlp(head: bytes) -> bool:
    """Whether the first message of field 1 holds messages, as OTLP's; pprof's holds two numbers."""
    if head[0] != 0x0A:
        return False
    at = 1
    while at < len(head) and head[at] > 127:
        at += 1
    return head[at + 1 : at + 2] in (b"\x0a", b"\x12", b"\x1a")
