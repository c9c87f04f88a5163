"""MinerU's content_list_v2, page by page with spans, told in the words of the flat list (v1)."""

from collections.abc import Iterator
from typing import Any

from chunking.parsers.fields import list_of, mapping_of, name_of

_FLAT_NAMES = {
    "title": "text",
    "paragraph": "text",
    "equation_interline": "equation",
    "algorithm": "code",
    "page_header": "header",
    "page_footer": "footer",
    "page_aside_text": "aside_text",
}


def is_paged(value: list[Any]) -> bool:
    """Whether a content list is of the second version: lists of items, or items with `content`."""
    first = next((item for item in value if isinstance(item, list) or mapping_of(item)), None)
    return isinstance(first, list) or isinstance(mapping_of(first).get("content"), dict)


def flattened(pages: list[Any]) -> Iterator[Any]:
    """Give the items of all pages in order, as v1 would have written them."""
    for index, page in enumerate(pages):
        if not isinstance(page, list):
            yield _flat(page, mapping_of(page).get("page_idx", 0))
            continue
        for item in page:
            yield _flat(item, index)


def _flat(item: Any, page_index: Any) -> Any:
    if not isinstance(item, dict):
        return item
    kind = name_of(item.get("type"))
    content = item.get("content")
    flat = {"type": _FLAT_NAMES.get(kind, kind), "page_idx": page_index}
    if "bbox" in item:
        flat["bbox"] = item["bbox"]
    if not isinstance(content, dict):
        return flat | {"text": content}
    flat["img_path"] = mapping_of(content.get("image_source")).get("path")
    if kind == "title":
        flat["text_level"] = content.get("level") or 1
    if kind == "algorithm":
        flat["sub_type"] = "algorithm"
    for name, value in content.items():
        _put(flat, kind, name, value)
    return flat


def _put(flat: dict[str, Any], kind: str, name: str, value: Any) -> None:
    """Put one part of an item's content where v1 has it."""
    if name == "html":
        flat["table_body"] = value
    elif name == "math_content":
        flat["text"] = value
    elif name == "code_language":
        flat["guess_lang"] = value
    elif name in {"code_content", "algorithm_content"}:
        flat["code_body"] = span_text(value)
    elif name == "list_items":
        flat["list_items"] = [
            span_text(entry.get("item_content")) if isinstance(entry, dict) else entry
            for entry in list_of(value)
        ]
    elif name.endswith(("_caption", "_footnote")) and not name.startswith("page_"):
        flat[name.replace("algorithm_", "code_")] = [span_text(value)]
    elif name == "content":
        flat["content"] = value if isinstance(value, str) else span_text(value)
    elif name == f"{kind}_content":
        flat["text"] = span_text(value)


def span_text(spans: Any) -> str:
    """The words of spans; formulas within a line get their dollars back, styles are no words."""
    if isinstance(spans, str):
        return spans
    words: list[str] = []
    stack = list_of(spans)[::-1]
    while stack:
        span = stack.pop()
        content = mapping_of(span).get("content", span)
        if isinstance(content, list):
            stack += content[::-1]
        elif isinstance(content, str):
            is_formula = mapping_of(span).get("type") == "equation_inline"
            words.append(f"${content}$" if is_formula else content)
    return "".join(words)
