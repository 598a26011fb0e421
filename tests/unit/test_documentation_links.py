"""Every link of the documentation leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part == "out" for part in path.relative_to(ROOT).parts)
)
LINK = re.compile(r"\]\(\s*<?([^)>\s]+)>?[^)]*\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def prose(page: Path) -> list[str]:
    """The lines of a page outside its code blocks."""
    lines: list[str] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            lines.append(line)
    return lines


def links(page: Path) -> Iterator[str]:
    """The targets within the project: no address of the web."""
    for line in prose(page):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if not ELSEWHERE.match(target):
                yield target


def anchors(page: Path) -> set[str]:
    """The anchors that a code host gives to the page's headings."""
    found: set[str] = set()
    for line in prose(page):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            used = sum(1 for one in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one))
            found.add(f"{slug}-{used}" if used else slug)
    return found


def broken(page: Path, root: Path = ROOT) -> list[str]:
    faults: list[str] = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        if not file.exists():
            faults.append(f"{target}: no such file")
        elif not file.is_relative_to(root):
            faults.append(f"{target}: outside the project")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            faults.append(f"{target}: no such heading")
    return faults


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken(page) == []


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = ROOT / "README.md"
    assert sum(1 for _ in links(page)) > 10
    fake = tmp_path / "page.md"
    fake.write_text("# A `title`\n[a](gone.md) [b](#a-title) [c](#other) [d](https://x.example)\n")
    assert broken(fake, tmp_path) == ["gone.md: no such file", "#other: no such heading"]


def test_every_page_is_reached_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md", ROOT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in links(page):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file.exists():
                waiting.append(file)
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} <= seen


@pytest.mark.parametrize(
    "record",
    sorted((ROOT / "docs" / "maintainers" / "decisions").glob("0*.md")),
    ids=lambda record: record.stem,
)
def test_a_decision_begins_with_its_number_then_its_status_and_date(record: Path) -> None:
    title, _, status = record.read_text(encoding="utf-8").splitlines()[:3]
    assert title.startswith(f"# {int(record.stem[:4])}. ")
    assert re.match(r"(Accepted|Superseded by \[\d+\]\(.*\)), \d{4}-\d\d-\d\d\.", status), status
