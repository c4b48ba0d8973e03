"""Reports as a reader meets them: written by the command, opened in a real browser, values read from what it shows."""

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import matplotlib.image as mpl_image
import pytest

from aligngraph.persistence import Location, PolicyStore
from aligngraph.policy import competence, weight

COMMAND = Path(sys.executable).with_name("aligngraph")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = '<script>document.title = "owned"</script><img src=x onerror=\'document.title = "owned"\'> \x1b[31m\u202egnp'
DOMAIN = "sums <i>"


class Shown(HTMLParser):
    """What a page shows: rows of cells by section, facts by name, words by id, and every element that was opened."""

    def __init__(self, dom):
        super().__init__()
        self.tags, self.rows, self.words, self.facts = [], {}, {}, {}
        self._section, self._ids, self._cell, self._fact = "", [], None, ""
        self.feed(dom)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        if tag == "section":
            self._section = given["id"]
        if tag in {"title", "h1"} or given.get("id") in {"status", "problems"}:
            self._ids = [given.get("id", tag)]
        if tag == "tr":
            self.rows.setdefault(self._section, []).append([])
        if tag in {"td", "th", "dt", "dd"}:
            self._cell = ""

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.rows[self._section][-1].append(self._cell)
        elif tag == "dt":
            self._fact = self._cell
        elif tag == "dd":
            self.facts[self._fact] = self._cell
        if tag in {"td", "th", "dt", "dd"}:
            self._cell = None
        if tag in {"title", "h1", "p", "ul"}:
            self._ids = []

    def handle_data(self, text):
        if self._cell is not None:
            self._cell += text
        for place in self._ids:
            self.words[place] = self.words.get(place, "") + text

    def row(self, section, first):
        return next(row for row in self.rows[section] if row[0] == first)


@pytest.fixture(scope="session")
def browser():
    """Return the path of a browser; the page is for readers, and only a browser can say what they see."""
    named = os.environ.get("ALIGNGRAPH_BROWSER")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail(
            f"no browser: install one of {', '.join(BROWSERS)} (Debian: chromium), or name it in ALIGNGRAPH_BROWSER"
        )
    return found


@pytest.fixture
def look(browser, tmp_path):
    """Return a function that opens a page and gives back what the browser prints."""

    def call(page, *options):
        profile = tmp_path / "profile"
        switches = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}")
        done = subprocess.run(
            [browser, *switches, "--virtual-time-budget=3000", *options, page.as_uri()],
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture
def read(look):
    return lambda page: Shown(look(page, "--dump-dom"))


@dataclass(frozen=True)
class Written:
    """A folder in which a team was asked three times, told twice, and reported on."""

    folder: Path
    decision: dict

    def run(self, *arguments, status=0):
        return command(self.folder, *arguments, status=status)


def command(folder, *arguments, status=0):
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        cwd=folder,
        env={**os.environ, "ALIGNGRAPH_DB": str(folder / "db"), "COLUMNS": "200"},
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    replies = {
        ("careful", 0): f"6 * 7 is 42. {HOSTILE}\nAnswer: 42",
        ("careful", 1): "Answer: 42",
        ("quick", 0): "Answer: 41",
    }
    rows = [{"agent": agent, "sample": sample, "text": text} for (agent, sample), text in replies.items()]
    rows.append({"agent": "principal", "text": json.dumps({"order": "{label:42}>{label:41}"})})
    (folder / "script.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = 'model = "scripted:script.jsonl"\n'
    agents = "".join(
        f'[[agents]]\nname = "{name}"\nsamples = {samples}\n{model}' for name, samples in (("careful", 2), ("quick", 1))
    )
    (folder / "team.toml").write_text(f"{agents}[principal]\n{model}")
    asking = ("ask", "What is 6 * 7? <b>", "--team", "team.toml", "--seed", 7, "--domain", DOMAIN, "--json")
    decision, *_ = [json.loads(command(folder, *asking, "--run", run_id)) for run_id in ("first", "second", "third")]
    command(folder, "feedback", "first", "--answer", "42")
    command(folder, "feedback", "second", "--answer", "41")
    command(folder, "report", "first", "--output", "run.html")
    command(folder, "report", DOMAIN, "--output", "domain.html")
    return Written(folder, decision)


@pytest.fixture
def run_page(written, read):
    return read(written.folder / "run.html")


def test_a_run_s_page_shows_the_decision_that_was_printed(written, run_page):
    decision = written.decision
    assert run_page.words["title"] == run_page.words["h1"] == "Run first"
    assert run_page.words["status"].startswith(f"Status: {decision['status']} ")
    best = decision["answers"][0]
    assert (run_page.facts["answer"], run_page.facts["posterior of the answer"]) == ("42", f"{best['posterior']:.3f}")
    assert run_page.row("answers", "42") == ["42", "2", "0.667", "1.", f"{best['posterior']:.3f}"]
    assert run_page.row("decision", "quick alone") == ["quick alone", "41", "no"]
    arm = "careful/step_by_step"
    regrets = (decision["game"][name][arm] for name in ("regret", "regret_bound"))
    assert [arm, *(f"{value:.3f}" for value in regrets)] in run_page.rows["game"]


def test_the_last_step_on_the_page_is_the_policy_of_the_decision(written, run_page):
    steps = [row for row in run_page.rows["game"] if row[0] == "quick/step_by_step" and len(row) == 4]
    last = max(steps, key=lambda row: int(row[1]))
    policies = (answer["policy"]["quick/step_by_step"] for answer in written.decision["answers"])
    assert last[2:] == [f"{share:.3f}" for share in policies]


def test_a_hostile_candidate_is_words_and_every_picture_has_its_own(run_page):
    assert not {"script", "img"} & {tag for tag, _ in run_page.tags}
    pictures = [given for tag, given in run_page.tags if tag == "svg"]
    assert [given["role"] for given in pictures] == ["img"] * 4
    assert all(given["aria-label"] for given in pictures)


async def test_a_domain_s_page_shows_what_the_store_holds(written, read):
    shown = read(written.folder / "domain.html")
    assert shown.words["h1"] == f"Domain {DOMAIN}"
    assert (shown.facts["tasks"], shown.facts["with feedback"], shown.facts["decisions right, of those"]) == (
        "3",
        "2",
        "0.500",
    )
    async with await PolicyStore.open(Location.find(str(written.folder / "db"))) as store:
        sums = await store.read_sums(DOMAIN)
    known = {key.arm: competence(one.total, one.count) for key, one in sums.here.items() if one.kind == "agent"}
    assert set(known) == {"careful/step_by_step", "quick/step_by_step"}
    for arm, mean in known.items():
        row = shown.row("competence", arm)
        assert (row[:3], row[4]) == ([arm, "3", f"{mean:.3f}"], f"{float(weight(mean, 2)):.3f}")
    assert shown.row("losses", "best fixed weights")[1] == "1.39"  # 42 once, 41 once: nothing beats an even guess
    assert "only 2 tasks with feedback" in shown.words["problems"]
    assert sum(int(row[2]) for row in shown.rows["calibration"][1:]) == 2


def test_the_page_is_seen_as_text_and_pictures(written, look, tmp_path):
    picture = tmp_path / "page.png"
    look(written.folder / "run.html", f"--screenshot={picture}", "--window-size=900,3000")
    pixels = mpl_image.imread(picture)[:, :, :3].mean(axis=2)
    assert pixels.shape == (3000, 900)
    dark = (pixels < 0.6).mean(axis=1)
    assert 0.005 < dark.mean() < 0.3
    assert (dark.reshape(10, 300).max(axis=1)[:8] > 0).all()  # nowhere a blank stretch


class _Counting(ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answering)
        self.asked = []


class _Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with _Counting() as counting:
        thread = threading.Thread(target=counting.serve_forever)
        thread.start()
        yield counting
        counting.shutdown()
        thread.join()


def test_even_what_got_into_the_page_could_neither_run_nor_load(written, read, server, tmp_path):
    """The page's own policy is a second wall: the same page without it does run and load what is put in."""
    page = (written.folder / "run.html").read_text(encoding="utf-8")
    address = f"http://127.0.0.1:{server.server_address[1]}"
    intruder = f'<script>document.title = "owned"</script><img src="{address}/img"><link rel="stylesheet" href="{address}/css">'
    spoiled = page.replace("<main>", f"<main>{intruder}<iframe src='{address}/frame'></iframe>")
    (tmp_path / "walled.html").write_text(spoiled, encoding="utf-8")
    assert read(tmp_path / "walled.html").words["title"] == "Run first"
    assert server.asked == []
    (tmp_path / "open.html").write_text(spoiled.replace("Content-Security-Policy", "nothing"), encoding="utf-8")
    assert read(tmp_path / "open.html").words["title"] == "owned"
    assert {"/img", "/css", "/frame"} <= set(server.asked)


def test_the_same_report_is_printed_in_the_terminal(written):
    shown = written.run("report", "first", "--text")
    assert shown.splitlines()[0] == "Run first"
    assert "What other rules make of the same candidates" in shown
    assert not {"\x1b", "\u202e"} & set(shown)
    assert not (written.folder / "report.html").exists()


def test_each_time_the_page_has_the_same_bytes(written):
    assert written.run("report", "first", "--output", "again.html") == "written to again.html\n"
    assert (written.folder / "again.html").read_bytes() == (written.folder / "run.html").read_bytes()


def test_what_cannot_be_reported_is_said_in_one_line(written):
    assert "no run and no domain 'nobody' in this database" in written.run("report", "nobody", status=2)
    assert "name another file with --output" in written.run(
        "report", "first", "--output", "no/such/folder.html", status=2
    )
