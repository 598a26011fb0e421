import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.units import amount, canonical, size


@pytest.mark.parametrize(
    ("value", "decimal", "binary"),
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (1_000, "1.00 kB", "1000 B"),
        (999_600, "1.00 MB", "976 KiB"),
        (55_100_000_000, "55.1 GB", "51.3 GiB"),
        (99_960_000_000, "100 GB", "93.1 GiB"),
        (-1_500, "-1.50 kB", "-1.46 KiB"),
    ],
)
def test_bytes_have_three_digits_and_say_which_unit(value: int, decimal: str, binary: str) -> None:
    assert amount(value, "bytes") == decimal
    assert amount(value, "bytes", binary=True) == binary


def test_other_units_are_written_out() -> None:
    assert amount(1_234_567, "count") == "1,234,567 count"
    assert amount(1_500_000, "nanoseconds") == "1.50 ms"
    assert amount(12, "") == "12"


# Every alias of pprof's internal/measurement, by the size of the unit.
PPROF = {
    "bytes": {
        1: "b byte",
        2**10: "kb kbyte kilobyte",
        2**20: "mb mbyte megabyte",
        2**30: "gb gbyte gigabyte",
        2**40: "tb tbyte terabyte",
        2**50: "pb pbyte petabyte",
    },
    "nanoseconds": {
        1: "ns nanosecond",
        10**3: "\u03bcs us microsecond",
        10**6: "ms millisecond",
        10**9: "s sec second",
        3600 * 10**9: "hour hr",
    },
    "nanogcu": {
        1: "nanogcu",
        10**3: "microgcu",
        10**6: "milligcu",
        10**9: "gcu",
        10**12: "kilogcu",
        10**15: "megagcu",
        10**18: "gigagcu",
    },
}


@pytest.mark.parametrize(
    ("kept", "factor", "alias"),
    [
        (kept, factor, alias)
        for kept, sizes in PPROF.items()
        for factor, aliases in sizes.items()
        for alias in aliases.split()
    ],
)
def test_every_unit_that_pprof_knows_is_known_in_any_spelling(
    kept: str, factor: int, alias: str
) -> None:
    plural = alias + "s" if len(alias) > 1 else alias
    for spelling in (alias, alias.upper(), alias.title(), plural, f" {alias} "):
        assert canonical(spelling) == (kept, factor)


def test_units_too_large_for_64_bits_of_the_smallest_stay_their_own() -> None:
    assert canonical("TeraGCU") == ("TeraGCU", 1)
    assert canonical("petagcu") == ("petagcu", 1)


def test_compute_units_are_scaled_as_pprof_writes_them() -> None:
    assert amount(1_500_000_000, "nanogcu") == "1.50 GCU"
    assert amount(12, "nanogcu") == "12 n*GCU"
    assert amount(9 * 10**18, "nanogcu") == "9.00 G*GCU"


@given(st.integers(0, 2**63 - 1), st.booleans())
def test_an_amount_read_back_is_within_a_hundredth(value: int, binary: bool) -> None:
    assert size(amount(value, "bytes", binary=binary)) == pytest.approx(value, rel=0.01)


@pytest.mark.parametrize("text", ["", "GB", "1 apple", "1,5GB", "-1", "1e9", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        size(text)
