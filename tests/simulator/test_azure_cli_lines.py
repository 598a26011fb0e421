"""The Azure CLI's parser takes every line of az that is printed or shown."""

import pytest

from tests.azure_cli import TABLE, parsed, table
from tests.printed import Printed, of
from tests.unit.test_printed_lines import is_told

pytestmark = pytest.mark.azcli


def test_the_azure_cli_takes_every_line_that_is_printed() -> None:
    lines = list(filter(is_told, of("az")))
    answers = zip(lines, parsed(lines), strict=True)
    assert {str(line): answer.problem for line, answer in answers if answer.problem} == {}


def test_what_the_quick_check_knows_of_az_is_what_the_cli_takes() -> None:
    assert TABLE.read_text(encoding="utf-8") == table(), "python -m tests.azure_cli writes it"


def test_the_parser_refuses_what_is_not_complete() -> None:
    wrong = ["az aks nodepool list", "az grafana update --name x", "az aks start --name x"]
    answers = parsed([Printed("here", tuple(text.split()), text) for text in wrong])
    assert all(answer.problem for answer in answers)
