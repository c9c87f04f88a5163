import json
import re
from dataclasses import asdict
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from rich.console import Console

from chunking import StructureAwareChunker
from chunking.parsers import parse_markdown
from chunking.strategies import STRATEGIES
from jobs.chunk_size import chunk_size
from jobs.cli import main
from jobs.config import ChunkingSettings, Config
from jobs.preview.lines import as_json, as_text, preview
from jobs.preview.marks import mark_chunks
from jobs.preview.page import Preview, notes_of, preview_page
from tests.chunking.strategies.strategies import make

TITLE, WORDS = "document.title", "document.body.innerText"
DRAWN = """[...document.querySelectorAll('article')].map(a => [a.id, a.clientHeight > 20,
  getComputedStyle(a).borderLeftColor, a.scrollWidth <= a.clientWidth])"""
BARS = """[...document.querySelectorAll('.histogram div')].map(bar =>
  [Number(bar.title.split(': ')[1]), bar.querySelector('b').getBoundingClientRect().height])"""
CELLS = "[...document.querySelectorAll('td')].map(cell => cell.innerText)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SENTENCES = "".join(f"这是第{n}个句子，说明一件事。" for n in range(40))
ROWS = "\n".join(f"| r{n} | 值 {n} |" for n in range(60))
MARKDOWN = (
    f"# 手册\n\n## 安装\n\n{SENTENCES}\n\n## 参数\n\n| 名称 | 值 |\n|---|---|\n{ROWS}\n\n## 空\n"
)
HOSTILE = "# <script>alert(1)</script>\n\n<b onclick=x>[red]fat[/red]</b> & [link](javascript:1)\n"


def made(markdown, max_tokens=96, overlap=32):
    document = parse_markdown(markdown, document_id="m", file_title="手册 & Co")
    chunker = StructureAwareChunker(max_tokens, overlap)
    return Preview(
        document=document,
        chunks=chunker.chunk(document),
        size=chunk_size(chunker.settings),
        notes=notes_of(document),
    )


def shown(renderable):
    console = Console(width=200, record=True)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_a_file_is_chunked_with_the_configuration_and_what_the_command_line_changes(tmp_path):
    file = tmp_path / "guide.md"
    file.write_text(MARKDOWN)
    config = Config(chunking=ChunkingSettings(max_tokens=256, overlap_tokens=0))
    made_of_it = preview(file, config, {"max_tokens": 64})

    assert (made_of_it.size.most, made_of_it.size.unit) == (64, "tokens")
    assert made_of_it.document.file_title == "guide"
    assert max(chunk.token_count for chunk in made_of_it.chunks) <= 64
    assert made_of_it.chunks == StructureAwareChunker(64, 0).chunk(made_of_it.document)


def test_an_option_that_does_not_exist_is_named(tmp_path):
    file = tmp_path / "guide.md"
    file.write_text(MARKDOWN)

    with pytest.raises(ValueError, match="strategy='no such'"):
        preview(file, Config(), {"strategy": "no such"})


def test_json_is_a_list_of_chunks_with_the_fields_of_a_row():
    chunks = made(MARKDOWN).chunks
    rows = json.loads(as_json(made(MARKDOWN)))

    assert [row["chunk_id"] for row in rows] == [chunk.chunk_id for chunk in chunks]
    assert rows[0].keys() == asdict(chunks[0]).keys()
    assert rows[0]["heading_path"] == ["手册", "安装"]


def test_overlap_and_table_heads_are_told_from_what_is_new():
    chunks = made(MARKDOWN).chunks
    marked = list(mark_chunks(chunks))

    assert [m.prefix + m.again + m.new for m in marked] == [chunk.content for chunk in chunks]
    prose = [m.new for m in marked if m.chunk.kind == "paragraph"]
    rows = [m.new for m in marked if m.chunk.kind == "table"]
    assert "".join(prose) == SENTENCES
    assert "\n".join(rows) == f"| 名称 | 值 |\n|---|---|\n{ROWS}"
    assert all(m.again for m in marked if m.chunk.part > 1)


def test_the_text_shows_every_chunk_with_its_size_kind_and_path():
    text = shown(as_text(made(MARKDOWN)))

    for chunk in made(MARKDOWN).chunks:
        line = next(at for at in text.split("\n") if at.startswith(f"#{chunk.chunk_index} "))
        assert f"{chunk.token_count}/96" in line
        assert chunk.kind in line
        assert " › ".join(chunk.heading_path) in line
    assert "note: heading without text: 空" in text


def test_markup_in_a_document_is_text_on_the_terminal():
    assert "[red]fat[/red]" in shown(as_text(made(HOSTILE)))


def test_the_page_is_one_file_without_scripts_that_asks_for_nothing():
    page = preview_page(made(HOSTILE))
    parsed = Tags(page)

    assert "default-src 'none'" in page
    assert not {"script", "img", "link", "iframe", "b onclick"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on") or name == "src"]
    assert all(value.startswith("#") for name, value in parsed.attributes if name == "href")
    assert "&lt;b onclick=x&gt;[red]fat" in page


def test_the_page_draws_every_chunk_and_a_histogram_of_fill():
    chunks = made(MARKDOWN).chunks
    page = preview_page(made(MARKDOWN))

    for chunk in chunks:
        assert f'id="chunk-{chunk.chunk_index}"' in page
        assert f"{chunk.token_count} tokens" in page
    assert all(f">{cell}</td>" in page for n in range(60) for cell in (f"r{n}", f"值 {n}"))
    assert page.count('<tr class="again"><th') == sum(
        chunk.kind == "table" and chunk.part > 1 for chunk in chunks
    )
    counts = [int(n) for n in re.findall(r'title="\d+–\d+%: (\d+)"', page)]
    assert sum(counts) == len(chunks)
    assert len(counts) == 10
    assert "heading without text: 空" in page


@pytest.mark.server
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_in_a_browser_the_page_is_quiet_inert_and_drawn(browser, tmp_path, width, scheme):
    hostile = "<script>document.title = '毒'</script><img src=x onerror=alert(1)>"
    file, page = tmp_path / "手册.md", tmp_path / "手册.html"
    file.write_text(f"{MARKDOWN}\n\n## 故障\n\n```html\n{hostile}\n```\n", encoding="utf-8")
    told = CliRunner().invoke(main, ["chunk", str(file), "--format", "html", "--max-tokens", "96"])
    page.write_text(told.stdout, encoding="utf-8")
    chunks = preview(file, Config(), {"max_tokens": 96}).chunks

    visit = browser.visit(
        page, *(TITLE, WORDS, DRAWN, BARS, CELLS, OVERFLOW), width=width, scheme=scheme
    )

    title, words, drawn, bars, cells, overflow = visit.answers
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith("data:")] == [page.as_uri()]
    assert title == "手册 · chunks · Kitelift"
    assert hostile in words
    assert [chunk_id for chunk_id, *_ in drawn] == [f"chunk-{n}" for n in range(len(chunks))]
    assert all(shown and fits for _, shown, _, fits in drawn)
    assert len({colour for _, _, colour, _ in drawn}) == len({chunk.kind for chunk in chunks}) > 1
    assert sum(count for count, _ in bars) == len(chunks)
    assert all((height > 1) == (count > 0) for count, height in bars)
    assert {"值 0", "值 59"} <= set(cells)
    assert overflow == 0


def test_a_document_without_text_is_said_to_have_none():
    empty = made("# 只有标题\n")

    assert "gives no chunk" in preview_page(empty)
    assert "no text, no chunk" in shown(as_text(empty))
    assert json.loads(as_json(empty)) == []


IN_TOKENS = {"structure", "parent_child"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_has_a_size_that_its_chunks_keep_and_can_fill(strategy):
    chunker = make(strategy)
    size = chunk_size(chunker.settings)
    document = parse_markdown(MARKDOWN * 3, document_id="m", file_title="m")
    chunks = chunker.chunk(document)

    assert size.unit == ("tokens" if strategy in IN_TOKENS else "characters")
    assert max(map(size.of, chunks)) <= size.most
    assert 0.5 < max(map(size.fill, chunks)) <= 1


def test_bars_are_drawn_against_the_size_and_unit_of_the_strategy(tmp_path):
    file = tmp_path / "guide.md"
    file.write_text(MARKDOWN)
    fixed = preview(file, Config(), {"strategy": "fixed"})
    line = next(x for x in shown(as_text(fixed)).split("\n") if x.startswith("#0 "))

    assert "█" * 19 in line
    assert "/600 " in line
    page = preview_page(fixed)
    assert "at most 600 characters" in page
    assert f"{len(fixed.chunks[0].content)} characters · {fixed.chunks[0].token_count} tok" in page


def test_a_hard_maximum_that_is_nearer_fills_the_bar(tmp_path):
    file = tmp_path / "guide.md"
    file.write_text(MARKDOWN)
    capped = preview(file, Config(), {"strategy": "fixed", "max_tokens": 64})

    assert max(map(capped.size.of, capped.chunks)) < 300
    assert max(map(capped.size.fill, capped.chunks)) > 0.9
