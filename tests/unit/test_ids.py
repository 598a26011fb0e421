"""ARM ids are taken apart in one place, whatever their case and however deep the resource is."""

import re

import pytest

from contract.azure import group_of, name_of, parent_of, subscription_of
from tests.printed import ROOT
from tests.rooms import PRODUCT

GROUP = "/subscriptions/s/resourceGroups/g"
SUBNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net/subnets/sub"


@pytest.mark.parametrize(
    ("text", "subscription", "group"),
    [
        (SUBNET, "s", "g"),
        (GROUP, "s", "g"),
        (SUBNET.replace("resourceGroups", "resourcegroups"), "s", "g"),
        ("/subscriptions/s", "s", ""),
        ("/subscriptions/s/providers/Microsoft.Authorization/locks/l", "s", ""),
        ("/providers/Microsoft.Authorization/roleDefinitions/r", "", ""),
        ("", "", ""),
    ],
)
def test_subscription_and_group_of_an_id(text: str, subscription: str, group: str) -> None:
    assert (subscription_of(text), group_of(text)) == (subscription, group)


def test_name_and_parent_of_an_id() -> None:
    assert name_of(SUBNET) == "sub"
    assert name_of(parent_of(SUBNET)) == "net"
    assert name_of(f"{GROUP}/") == "g"
    assert name_of("") == ""


def test_no_other_module_takes_an_id_apart_by_counting_slashes() -> None:
    # The segments of an ARM id by their number, as in `id.split("/")[4]`.
    counted = re.compile(r'split\("/"\)\)?\[-?\d|\*_, name = \w+\.split\("/"\)')
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for room in PRODUCT
        for file in sorted((ROOT / room).rglob("*.py"))
        if (match := counted.search(file.read_text(encoding="utf-8")))
    ]
    assert found == []
