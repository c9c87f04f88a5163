"""`kitelift eval`: figures that can be checked by hand, and the command on real documents."""

import json
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.config import ConfigError
from jobs.evaluation.grid import read_grid
from jobs.evaluation.kept import Passage
from jobs.evaluation.questions import Question, covered, left_out, letters_of, read_questions
from jobs.evaluation.scores import answer, scores, scores_by
from jobs.evaluation.words import WordIndex, fused
from tests.jobs.world import PROJECT, manual, markdown

DEMO = PROJECT / "demo"
TABLE = "| Lamp | Meaning |\n|:-----|:-------:|\n| red  | stopped |\n| off  | no power |\n"


def a_question(excerpt="", document_id="", **fields):
    return Question(number=1, question="?", excerpt=excerpt, document_id=document_id, **fields)


def answered(question, *contents, document_id="d", ranking=None):
    """With a token a word."""
    passages = [Passage(document_id, text, len(text.split())) for text in contents]
    letters = [letters_of(text) for text in contents]
    places = range(len(contents)) if ranking is None else ranking
    return answer(question, list(places), passages, letters, lambda text: len(text.split()))


# Questions


@pytest.mark.parametrize(
    ("excerpt", "chunk"),
    [
        ("| red | stopped |", "| Lamp | Meaning |\n| --- | --- |\n| red | stopped |"),
        ("| red | stopped |\n| off | no power |", "| red | stopped |\n|off|no power|"),
        ("| Lamp | Meaning |\n|---|---|\n| red | stopped |", TABLE),
        ("one\ntwo three", "zero one two\nthree four"),
        ("任何一个服务", "任何一个\n服务"),
        ("a | b", r"a \| b"),
    ],
)
def test_layout_does_not_hide_an_excerpt(excerpt, chunk):
    assert letters_of(excerpt) in letters_of(chunk)


def test_other_letters_are_another_excerpt():
    assert letters_of("| red | stopped |") not in letters_of("| red | starting |")
    assert letters_of("-- x") not in letters_of("x")


def test_a_question_that_the_documents_cannot_answer_is_left_out_with_the_reason():
    documents = [markdown("a", "Some words here."), markdown("b", "Others.")]
    asked = [
        Question(number=1, question="?", document_id="a", excerpt="Some  words"),
        Question(number=2, question="?", document_id="b", excerpt="Some words"),
        Question(number=3, question="?", document_id="c"),
        Question(number=4, question="?", excerpt="nowhere"),
        Question(number=5, question="?", document_id="b"),
        Question(number=6, question="?", excerpt="Others"),
    ]

    reasons = left_out(asked, documents)

    assert reasons.keys() == {2, 3, 4}
    assert "'b'" in reasons[2]
    assert "'c'" in reasons[3]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: no JSON"),
        ("[]", "line 2: not an object"),
        ('{"excerpt": "x"}', "line 2: `question`"),
        ('{"question": "x"}', "line 2: it needs an `excerpt`"),
        ('{"question": "x", "excerpt": "| |"}', "line 2: it needs an `excerpt`"),
        ('{"question": "x", "excerpt": ["x"]}', "line 2: excerpt must be text"),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path, line, told):
    file = tmp_path / "questions.jsonl"
    file.write_text(f'{{"question": "q", "excerpt": "e"}}\n{line}\n', encoding="utf-8")

    with pytest.raises(ConfigError, match=told):
        read_questions(file)


# Figures


def test_an_excerpt_is_found_where_all_of_it_stands_in_one_passage_of_its_document():
    question = a_question("two three", "d")

    assert answered(question, "zero", "one two", "three", "one two three").rank == 4
    assert answered(question, "one two", "three four").rank == 0
    assert answered(question, "one two three", document_id="other").rank == 0
    assert answered(a_question("two three"), "two three", document_id="other").rank == 1
    assert answered(a_question(document_id="d"), "anything").rank == 1


def test_tokens_of_what_was_retrieved_are_set_against_those_of_the_excerpt():
    both = answered(a_question("alphabet betagamma", "d"), "alphabet betagamma more", "x y z")
    half = answered(a_question("alphabet betagamma", "d"), "x y alphabet z")
    none = answered(a_question("alphabet betagamma", "d"), "x y z", "p q")

    assert (both.precision, both.recall, both.iou) == pytest.approx((2 / 6, 1, 2 / 6))
    share = len("alphabet") / len("alphabetbetagamma")
    assert half.recall == pytest.approx(share)
    assert half.precision == pytest.approx(2 * share / 4)
    assert half.iou == pytest.approx(2 * share / (2 + 4 - 2 * share))
    assert (none.precision, none.recall, none.iou) == (0, 0, 0)


def test_overlapping_passages_cover_an_excerpt_once():
    assert covered("abcdefghijkl", ["xxabcdefgh", "efghijklyy"]) == 12
    assert covered("abcdefghijkl", ["abc", "xyz"]) == 0  # three letters match anywhere


def test_means_are_taken_over_all_questions_and_by_what_they_name():
    contents = [f"word{number}here" for number in range(12)]
    ranks = {"word0here": "a", "word3here": "a", "word11here": "b", "missing": "b"}
    answers = [
        answered(a_question(text, "d", kind=kind), *contents) for text, kind in ranks.items()
    ]

    told, by_kind = scores(answers), scores_by(answers, "kind")

    assert told["recall"] == {"1": 0.25, "3": 0.25, "5": 0.5, "10": 0.5}
    assert told["mrr"] == pytest.approx((1 + 1 / 4 + 1 / 12) / 4, abs=1e-4)
    assert by_kind["a"]["recall"]["5"] == 1
    assert by_kind["b"]["recall"]["5"] == 0
    assert by_kind["b"]["questions"] == 2


def test_a_reader_of_few_tokens_is_not_served_by_large_passages():
    large = answered(a_question("needle", "d"), "hay " * 600, "needle")
    small = answered(a_question("needle", "d"), *["hay " * 10] * 5, "needle")

    assert scores([large])["recall"]["3"] > scores([small])["recall"]["3"]
    assert scores([large])["recall_within_tokens"] == {"500": 0, "1000": 1, "2000": 1}
    assert scores([small])["recall_within_tokens"]["500"] == 1


def test_what_is_nowhere_is_within_no_number_of_tokens():
    missed = answered(a_question("needle", "d"), "hay", "straw")

    assert set(scores([missed])["recall_within_tokens"].values()) == {0}


def test_rare_words_of_both_languages_rank_a_passage_by_bm25():
    index = WordIndex(["the gateway restarts", "the lamp of the gateway", "网关重启", "the the"])

    assert index.ranking("lamp gateway") == [1, 0]
    assert index.ranking("重启网关") == [2]
    assert index.ranking("nothing") == []


def test_fusion_prefers_what_both_legs_found():
    assert fused([[1, 2, 3], [4, 2, 5]])[0] == 2
    assert fused([[7]]) == [7]


# The grid


def test_a_grid_is_every_combination_that_can_be():
    points, impossible = read_grid(
        ["structure:max_tokens=64/128,overlap_tokens=0/64", "fixed:unit=tokens,size=40,overlap=8"]
    )

    assert [point.name for point in points] == [
        "structure max_tokens=64 overlap_tokens=0",
        "structure max_tokens=128 overlap_tokens=0",
        "structure max_tokens=128 overlap_tokens=64",
        "fixed unit=tokens size=40 overlap=8",
    ]
    (reason,) = impossible.values()
    assert "64" in reason


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("structur", "structur"),
        ("structure:max_token=5", "max_token"),
        ("structure:max_tokens", "OPTION=VALUE"),
        ("fixed:size=10,overlap=10", "overlap"),
    ],
)
def test_a_grid_without_a_point_is_refused(line, told):
    with pytest.raises(ConfigError, match=told):
        read_grid([line])


# The command


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(*words):
    asked = CliRunner().invoke(main, ["eval", *map(str, words)])
    assert asked.exit_code == 0, asked.stderr
    return asked


@pytest.fixture
def little(here):
    """The words of a call over two documents and two questions."""
    (here / "docs").mkdir()
    for name in ("red", "green"):
        (here / "docs" / f"{name}.md").write_text(manual(name), encoding="utf-8")
    asked = [
        {"question": "What is in red?", "document_id": "red.md"},
        {"question": "What is number 2?", "excerpt": "Sentence 2 of section 1 in green"},
    ]
    lines = "\n".join(map(json.dumps, asked))
    (here / "questions.jsonl").write_text(lines, encoding="utf-8")
    grid = ("--grid", "structure:max_tokens=128", "--grid", "semantic:min_chars=50,max_chars=400")
    return ("--questions", "questions.jsonl", "--docs", "docs", *grid)


def test_the_bundled_questions_are_all_answered_by_the_bundled_documents(here):
    grid = ("--grid", "structure", "--grid", "parent_child")
    words = ("--questions", DEMO / "questions.jsonl", "--docs", DEMO / "docs", *grid)

    told = json.loads(evaluate(*words, "--json").stdout)

    assert told["left_out"] == []
    assert told["questions"] == 99
    assert {point["strategy"] for point in told["points"]} == {"structure", "parent_child"}
    for point in told["points"]:
        recall = [point["recall"][cutoff] for cutoff in ("1", "3", "5", "10")]
        assert 0.1 < recall[0] <= recall[1] <= recall[2] <= recall[3] < 1
        assert {"table", "code", "prose", "list"} == point["by_kind"].keys()
        assert len(point["missed"]) == round(99 * (1 - point["recall"]["5"]))


def test_a_second_call_pays_nothing_and_finds_the_same(little):
    def call():
        told = json.loads(evaluate(*little, "--mode", "hybrid", "--json").stdout)
        tokens = told.pop("embedded_tokens")
        return tokens, [{**point, "seconds": 0} for point in told["points"]]

    first, second = call(), call()

    assert first[0] > 0
    assert second == (0, first[1])


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.seen = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_the_page_stands_alone_and_shows_what_the_table_says(here, little):
    told = evaluate(*little, "--grid", "fixed:size=77/20,overlap=50", "--html", "page.html").stdout

    page = (here / "page.html").read_text(encoding="utf-8")
    assert "fixed size=77 overlap=50" in page
    assert "Not possible: fixed size=20 overlap=50" in page
    for name in ("structure", "semantic", "fixed size=77"):
        assert name in told
    tags = Tags(page).seen
    assert not [tag for tag, attrs in tags if tag in {"script", "link", "img"} or "src" in attrs]
    assert sum(attrs.get("class") == "track" for _, attrs in tags) == 3


@pytest.mark.server
def test_without_a_folder_the_parsed_documents_of_the_source_are_taken(world):
    text = "# A\n\nThe kite is red.\n\n# B\n\nThe valley is green.\n"
    world.put("a.parquet", {"guide": text, "other": "Something else."})
    file = world.folder / "q.jsonl"
    file.write_text('{"question": "kite?", "excerpt": "The kite is red."}\n', encoding="utf-8")

    asked = world.command("eval", "--questions", str(file), "--grid", "structure", "--json")

    assert asked.returncode == 0, asked.stderr
    told = json.loads(asked.stdout)
    assert (told["documents"], told["questions"]) == (2, 1)
    assert told["points"][0]["chunks"] == 3
    assert told["points"][0]["recall"]["3"] == 1


def test_questions_that_nothing_answers_are_a_fault_of_the_caller(here):
    (here / "q.jsonl").write_text('{"question": "x", "document_id": "y"}\n', encoding="utf-8")
    (here / "a.md").write_text("Words.\n", encoding="utf-8")

    asked = CliRunner().invoke(main, ["eval", "--questions", "q.jsonl", "--docs", "."])

    assert asked.exit_code == 2
    assert "no document 'y'" in asked.stderr
