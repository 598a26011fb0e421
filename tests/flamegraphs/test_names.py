import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.names import Kind, kind_of, normalise


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        ("Foo > bar", "Foo.bar"),
        ("Foo / bar", "Foo.bar"),
        ("Foo → bar", "Foo.bar"),
        ("Foo→bar", "Foo.bar"),
        ("Foo.bar", "Foo.bar"),
        ("Foo > __init__", "Foo.__init__"),
        ("Outer > Inner > run", "Outer.Inner.run"),
        ("make > <locals> > <lambda>", "make.<locals>.<lambda>"),
        ("make.<locals>.inner > <lambda>", "make.<locals>.inner.<lambda>"),
        ("Größe > anlegen", "Größe.anlegen"),
        ("[12] Foo > bar", "Foo.bar"),
        ("[3]  step", "step"),
        ("[0] <module>", "<module>"),
        (" step ", "step"),
    ],
)
def test_every_spelling_of_a_python_name_becomes_one(recorded: str, shown: str) -> None:
    assert normalise(recorded) == shown


@pytest.mark.parametrize(
    "name",
    [
        "std::vector<std::pair<int, int> >::push_back",
        "bool operator > (A const&, A const&)",
        "at::native::empty_cuda(c10::ArrayRef<long>, float / double)",
        "/usr/lib / x",
        "/opt/a > b/libfoo.so+0x12",
        "lib > foo.so+0x12",
        "github.com/grafana/pyroscope/pkg.(*Server).Run",
        "<interpreter trampoline>",
        "main.main.func1",
        "[12]",
        "",
    ],
)
def test_names_of_other_languages_and_paths_are_left_as_they_are(name: str) -> None:
    assert normalise(name) == name


@given(st.text() | st.from_regex(r"(\[\d\] ?)?\w+( > | / |→)\w+", fullmatch=True))
def test_a_name_has_one_spelling_however_often_it_is_normalised(name: str) -> None:
    assert normalise(normalise(name)) == normalise(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("GPUModelRunner._allocate_kv_cache_tensors", Kind.NAMED),
        ("<module>", Kind.NAMED),
        ("<lambda>", Kind.NAMED),
        ("make.<locals>.<lambda>", Kind.NAMED),
        ("cudaMalloc", Kind.NAMED),
        ("decade", Kind.NAMED),
        ("operator+", Kind.NAMED),
        ("other", Kind.NAMED),
        ("0x7f151", Kind.NATIVE),
        ("0X7F151A2D90B4", Kind.NATIVE),
        ("00007f151a2d90b4", Kind.NATIVE),
        ("libcuda.so.1+0x1f3", Kind.NATIVE),
        ("libtorch_cuda.so+0x2f1c40", Kind.NATIVE),
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05", Kind.NATIVE),
        ("/usr/bin/python3.11+0x1a", Kind.NATIVE),
        ("_C.cpython-311-x86_64-linux-gnu.so+0x99", Kind.NATIVE),
        ("[libcuda.so.1]", Kind.NATIVE),
        ("[vdso]", Kind.NATIVE),
        ("<interpreter trampoline>", Kind.TRAMPOLINE),
        ("<unknown>", Kind.UNKNOWN),
        ("[unknown]", Kind.UNKNOWN),
        ("", Kind.UNKNOWN),
    ],
)
def test_the_kind_of_a_frame_follows_from_its_name(name: str, kind: Kind) -> None:
    assert kind_of(name) is kind
