import json
import re
from dataclasses import asdict
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from rich.console import Console

from chunking import StructureAwareChunker
from chunking.parsers import parse_markdown
from jobs.cli import main
from jobs.config import ChunkingSettings
from jobs.preview import as_html, as_json, as_text, preview
from jobs.preview_marks import mark_chunks

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
    return document, StructureAwareChunker(max_tokens, overlap).chunk(document), max_tokens


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
    settings = ChunkingSettings(max_tokens=256, overlap_tokens=0)
    document, chunks, budget = preview(file, settings, {"max_tokens": 64})

    assert budget == 64
    assert document.file_title == "guide"
    assert max(chunk.token_count for chunk in chunks) <= 64
    assert chunks == StructureAwareChunker(64, 0).chunk(document)


def test_an_option_that_does_not_exist_is_named(tmp_path):
    file = tmp_path / "guide.md"
    file.write_text(MARKDOWN)

    with pytest.raises(ValueError, match="strategy='no such'"):
        preview(file, ChunkingSettings(), {"strategy": "no such"})


def test_json_is_a_list_of_chunks_with_the_fields_of_a_row():
    document, chunks, budget = made(MARKDOWN)
    rows = json.loads(as_json(document, chunks, budget))

    assert [row["chunk_id"] for row in rows] == [chunk.chunk_id for chunk in chunks]
    assert rows[0].keys() == asdict(chunks[0]).keys()
    assert rows[0]["heading_path"] == ["手册", "安装"]


def test_overlap_and_table_heads_are_told_from_what_is_new():
    _, chunks, _ = made(MARKDOWN)
    marked = list(mark_chunks(chunks))

    assert [m.prefix + m.again + m.new for m in marked] == [chunk.content for chunk in chunks]
    prose = [m.new for m in marked if m.chunk.kind == "paragraph"]
    rows = [m.new for m in marked if m.chunk.kind == "table"]
    assert "".join(prose) == SENTENCES
    assert "\n".join(rows) == f"| 名称 | 值 |\n|---|---|\n{ROWS}"
    assert all(m.again for m in marked if m.chunk.part > 1)


def test_the_text_shows_every_chunk_with_its_size_kind_and_path():
    document, chunks, budget = made(MARKDOWN)
    text = shown(as_text(document, chunks, budget))

    for chunk in chunks:
        line = next(at for at in text.split("\n") if at.startswith(f"#{chunk.chunk_index} "))
        assert f"{chunk.token_count}/{budget}" in line
        assert chunk.kind in line
        assert " › ".join(chunk.heading_path) in line
    assert "note: heading without text: 空" in text


def test_markup_in_a_document_is_text_on_the_terminal():
    assert "[red]fat[/red]" in shown(as_text(*made(HOSTILE)))


def test_the_page_is_one_file_without_scripts_that_asks_for_nothing():
    page = as_html(*made(HOSTILE))
    parsed = Tags(page)

    assert "default-src 'none'" in page
    assert not {"script", "img", "link", "iframe", "b onclick"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on") or name == "src"]
    assert all(value.startswith("#") for name, value in parsed.attributes if name == "href")
    assert "&lt;b onclick=x&gt;[red]fat" in page


def test_the_page_draws_every_chunk_and_a_histogram_of_fill():
    document, chunks, budget = made(MARKDOWN)
    page = as_html(document, chunks, budget)

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
    chunks = preview(file, ChunkingSettings(), {"max_tokens": 96})[1]

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
    document, chunks, budget = made("# 只有标题\n")

    assert "gives no chunk" in as_html(document, chunks, budget)
    assert "no text, no chunk" in shown(as_text(document, chunks, budget))
    assert json.loads(as_json(document, chunks, budget)) == []
