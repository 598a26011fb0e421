"""Profiles that a Go program made of itself, read beside ``go tool pprof -top``.

Go is on every machine that runs the whole test suite; where it is missing this fails rather than
passing unseen.
"""

import subprocess
from pathlib import Path

import pytest

from flamegraphs.files import read_file
from flamegraphs.hotspots import hotspots
from tests.flamegraphs.generated import write
from tests.flamegraphs.gopprof import our_table, pprof_table

pytestmark = pytest.mark.go

PROGRAM = """
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"strings"
	"time"
)

var kept [][]byte

type cache struct{}

func (c *cache) fill(n int) {
	if n > 0 {
		kept = append(kept, make([]byte, 1<<16))
		c.fill(n - 1) // recursion: counted once
	}
}

func small(s string) string { return strings.Repeat(s, 3) } // inlined

func work(until time.Time) int {
	n := 0
	for time.Now().Before(until) {
		words := make([]string, 0, 500)
		for i := 0; i < 500; i++ {
			words = append(words, small(string(rune('a'+i%26))))
		}
		sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
		n += len(words)
	}
	return n
}

func main() {
	runtime.MemProfileRate = 512
	cpu, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(cpu)
	work(time.Now().Add(700 * time.Millisecond))
	pprof.StopCPUProfile()
	cpu.Close()
	(&cache{}).fill(40)
	runtime.GC() // the heap profile is as of the last collection
	heap, _ := os.Create(os.Args[2])
	pprof.WriteHeapProfile(heap)
	heap.Close()
	runtime.KeepAlive(kept)
}
"""


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(PROGRAM)
    files = {"cpu": folder / "cpu.pb.gz", "heap": folder / "heap.pb.gz"}
    subprocess.run(
        ["go", "run", "main.go", str(files["cpu"]), str(files["heap"])], cwd=folder, check=True
    )
    return files


@pytest.mark.parametrize(
    ("file", "sample_type", "unit"),
    [
        ("cpu", "samples", "count"),
        ("cpu", "cpu", "nanoseconds"),
        ("heap", "alloc_objects", "count"),
        ("heap", "alloc_space", "bytes"),
        ("heap", "inuse_objects", "count"),
        ("heap", "inuse_space", "bytes"),
    ],
)
def test_every_row_of_a_go_profile_agrees_with_pprof(
    profiles: dict[str, Path], file: str, sample_type: str, unit: str
) -> None:
    theirs = pprof_table(profiles[file], sample_type, unit)
    ours = our_table(hotspots(read_file(str(profiles[file]), sample_type)))
    assert ours == theirs
    assert any(name.startswith("main.") for name in theirs)


def test_the_value_taken_without_being_asked_is_the_one_pprof_takes(
    profiles: dict[str, Path],
) -> None:
    assert read_file(str(profiles["cpu"])).sample_type == "cpu"
    assert read_file(str(profiles["heap"])).sample_type == "inuse_space"


def test_every_row_of_a_generated_profile_agrees_with_pprof(tmp_path: Path) -> None:
    file = tmp_path / "generated.pb.gz"
    write(file, 3_000)
    assert our_table(hotspots(read_file(str(file)))) == pprof_table(file, "malloc", "bytes")


def test_what_we_write_as_pprof_is_read_by_pprof_with_the_same_figures(
    profiles: dict[str, Path], tmp_path: Path
) -> None:
    from flamegraphs.render import pprof

    profile = read_file(str(profiles["heap"]))
    written = tmp_path / "again.pb.gz"
    written.write_bytes(b"".join(pprof.write(profile)))
    assert pprof_table(written, "inuse_space", "bytes") == our_table(hotspots(profile))
