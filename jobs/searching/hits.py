"""What `kitelift search` found, as a person reads it on a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from jobs.searching.words import best_window, find_words, query_words

EXCERPT = 360
"""Characters of a hit that are shown."""
_INDENT = "   "
_FOUND = "bold yellow"


def hits_page(hits: Sequence[Mapping[str, Any]], query: str) -> RenderableType:
    """Title and scores, place, and the part of the text where the query's words stand."""
    if not hits:
        return Text("Nothing found.")
    words = query_words(query)
    return Group(*(_hit(place, hit, words) for place, hit in enumerate(hits, 1)))


def parents_page(hits: Sequence[Mapping[str, Any]], query: str) -> RenderableType:
    """Each parent with its scores and the whole context that a reader would be given."""
    if not hits:
        return Text("Nothing found.")
    words = query_words(query)
    return Group(*(_parent(place, hit, words) for place, hit in enumerate(hits, 1)))


def _hit(place: int, hit: Mapping[str, Any], words: Sequence[str]) -> Text:
    text = _head(place, hit)
    text.append_text(highlighted(body_of(hit), words, EXCERPT))
    return text.append("\n")


def _parent(place: int, hit: Mapping[str, Any], words: Sequence[str]) -> Text:
    text = _head(place, hit)
    told = f"{hit['context_tokens']} tokens around {len(hit['children'])} children that were hit"
    text.append(f"{_INDENT}{told if hit['context'] else 'the token budget is used up'}\n", "dim")
    text.append_text(highlighted(hit["context"], words, len(hit["context"])))
    return text.append("\n")


def _head(place: int, hit: Mapping[str, Any]) -> Text:
    text = Text(f"{place}. ", "bold")
    text.append(hit["title"] or hit["file_title"], "bold")
    for name, score in hit["scores"].items():
        if score is not None:
            text.append(f"  {name.replace('_', ' ')} ", "dim").append(f"{score:.4f}", "cyan")
    return text.append(f"\n{_INDENT}{' · '.join(where(hit))}\n", "dim")


def where(row: Mapping[str, Any]) -> Iterator[str]:
    """Source, place in it, headings from the outermost inwards."""
    yield row["source"] or row["file_title"] or row["document_id"]
    for name in ("page", "slide", "sheet", "cell_range", "speaker"):
        if row[name]:
            yield f"{name.replace('_', ' ')} {row[name]}"
    if row["item_name"]:
        yield row["item_name"]
    if row["heading_path"]:
        yield " > ".join(row["heading_path"])


def body_of(row: Mapping[str, Any]) -> str:
    """The content without its heading prefix, which stands above it already."""
    content: str = row["content"]
    prefix, _, body = content.partition("\n")
    path = list(row["heading_path"])
    return body if body and path and prefix.rstrip("]").endswith(path[-1]) else content


def highlighted(text: str, words: Sequence[str], length: int) -> Text:
    """At most so many characters, indented, with the words in colour; `…` where it is cut."""
    found = find_words(words, text)
    start, end = best_window(found, len(text), length)
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end -= len(text[start:end]) - len(text[start:end].rstrip())
    shown = Text(text[start:end])
    for first, last in found:
        if start <= first and last <= end:
            shown.stylize(_FOUND, first - start, last - start)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shown = Text.assemble(before, shown, after)
    return Text("\n").join(Text(_INDENT).append_text(line) for line in shown.split("\n"))
