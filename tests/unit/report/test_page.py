import re
from html.parser import HTMLParser

import pytest

from aligngraph.report.charts import Row, RowChart
from aligngraph.report.document import Fact, Figure, Passage, Report, Section, Table
from aligngraph.report.page import write_page

HOSTILE = '<script>document.title = "owned"</script><img src=x onerror=alert(1)>"\'&'
TABLE = Table.of("values", ("who", "how much"), [(HOSTILE, "1.5")])
REPORT = Report(
    title=f"Run {HOSTILE}",
    status="Status: ok",
    problems=(f"it broke: {HOSTILE}",),
    facts=(Fact("answer", HOSTILE),),
    sections=(
        Section(
            "one",
            "First",
            (f"note {HOSTILE}",),
            (
                TABLE,
                Figure("bars", f"bars of {HOSTILE}", RowChart("b", "v", (Row(HOSTILE, 1.0),)), TABLE),
                Passage("text", HOSTILE),
            ),
        ),
        Section("two", "Second"),
    ),
)
PAGE = write_page(REPORT)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.fixture(scope="module")
def tags():
    parser = Tags()
    parser.feed(PAGE)
    return parser.found


def test_the_same_report_gives_the_same_bytes():
    assert write_page(REPORT) == PAGE


def test_what_others_wrote_is_text_wherever_it_stands(tags):
    assert not {"script", "img"} & {tag for tag, _ in tags}
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    assert PAGE.count("&lt;script&gt;") >= 7


def test_the_page_loads_nothing(tags):
    assert not {"link", "iframe", "object", "embed", "base", "form", "video", "audio", "foreignobject"} & {
        tag for tag, _ in tags
    }
    addresses = [
        value for _, attributes in tags for name, value in attributes.items() if name in {"src", "href", "xlink:href"}
    ]
    assert all(address.startswith("#") for address in addresses)
    assert not re.search(r"@import|@font-face|url\((?!#)", PAGE)


def test_a_strict_policy_stands_before_anything_else(tags):
    policy = next(
        attributes["content"] for _, attributes in tags if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert [tag for tag, _ in tags[:4]] == ["html", "head", "meta", "meta"]


def test_status_and_problems_come_first():
    """F31: whoever reads a report sees first whether it can be relied on."""
    places = [PAGE.index(mark) for mark in ('id="status"', 'id="problems"', 'id="facts"', 'id="one"', 'id="two"')]
    assert places == sorted(places)
    assert "No problems." not in PAGE


def test_without_problems_the_page_says_so():
    assert '<p class="none" id="problems">No problems.</p>' in write_page(Report("t", "s", (), (), ()))


def test_every_picture_has_words_and_a_table_of_its_values(tags):
    pictures = [attributes for tag, attributes in tags if tag == "svg"]
    assert [picture["aria-label"] for picture in pictures] == [f"bars of {HOSTILE}"]
    assert PAGE.index("<svg") < PAGE.index("<summary>Values</summary>") < PAGE.rindex("<td>1.5</td>")


def test_headings_have_a_scope_and_words_stand_left(tags):
    assert [attributes for tag, attributes in tags if tag == "th"][:2] == [
        {"scope": "col", "class": "word"},
        {"scope": "col"},
    ]


def test_ids_are_unique_and_every_link_of_the_page_has_its_place(tags):
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes["href"][1:] for tag, attributes in tags if tag == "a"} == {"one", "two"} <= set(ids)
