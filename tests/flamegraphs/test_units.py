import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.units import amount, size


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


@given(st.integers(0, 2**63 - 1), st.booleans())
def test_an_amount_read_back_is_within_a_hundredth(value: int, binary: bool) -> None:
    assert size(amount(value, "bytes", binary=binary)) == pytest.approx(value, rel=0.01)


@pytest.mark.parametrize("text", ["", "GB", "1 apple", "1,5GB", "-1", "1e9", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        size(text)
