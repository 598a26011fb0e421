"""The picture of the rooms says what the code says."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.house import NOT_THE_PRODUCT, ROOT, Plan, draw, main, plan, ranks, read
from tests.unit.test_rooms import MAY_IMPORT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three rooms: ``top`` imports ``middle`` and ``ground``, ``middle`` imports ``ground``."""
    for name, text in {
        "top/__init__.py": "",
        "top/wiring.py": "import middle.part\nfrom ground import names\nimport os\n",
        "middle/__init__.py": '"""A room."""\n',
        "middle/part.py": "def late():\n    from ground.names import ONE\n    return ONE\n",
        "ground/__init__.py": "",
        "ground/names.py": "ONE = 1\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_sizes_and_imports_are_read_from_the_code(folder: Path) -> None:
    rooms = read(folder)
    assert {name: room.lines for name, room in rooms.items()} == {
        "ground": 1,
        "middle": 4,
        "top": 3,
    }
    assert dict(rooms["top"].imports) == {"middle": 1, "ground": 1}
    # An import inside a function is one as well.
    assert dict(rooms["middle"].imports) == {"ground": 1}


def test_a_room_is_above_all_that_it_imports(folder: Path) -> None:
    assert ranks(read(folder)) == {"ground": 0, "middle": 1, "top": 2}
    drawing: Plan = plan(read(folder))
    for arrow in drawing.arrows:
        heights = [place.y for place in arrow.through]
        assert heights == sorted(heights)
        # One place in every row on the way, so that no arrow runs over a room.
        assert len(set(heights)) == len(heights)


def test_rooms_that_import_each_other_are_drawn_all_the_same(folder: Path) -> None:
    (folder / "ground" / "names.py").write_text("import top.wiring\n")
    assert "ground/" in draw(read(folder), "a circle")


def test_the_picture_is_well_formed_and_names_every_room(folder: Path) -> None:
    output = folder / "out" / "house.svg"
    assert main([str(folder), "--title", "A & B", "--output", str(output)]) == 0
    picture = ElementTree.parse(output)  # noqa: S314 - written a moment ago, here
    text = "".join(picture.getroot().itertext())
    assert all(f"{name}/" in text for name in ("top", "middle", "ground"))
    assert "A & B" in text


def test_the_arrows_of_this_house_are_those_of_the_layer_rule() -> None:
    product = {one: room for one, room in read(ROOT).items() if one not in NOT_THE_PRODUCT}
    for name, room in product.items():
        allowed = {one.partition(".")[0] for one in MAY_IMPORT[name]}
        assert set(room.imports) & set(product) <= allowed, name
