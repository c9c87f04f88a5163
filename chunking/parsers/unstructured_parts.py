"""Unstructured's chunked output: composites opened again into the elements they were made of."""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from chunking.parsers.errors import ParseError
from chunking.parsers.fields import mapping_of, mappings_of, name_of

Element = dict[str, Any]

NOISE = frozenset({"Header", "Footer", "PageNumber", "PageBreak"})
_LAYOUT_NAMES = {
    "Section-header": "Title",
    "Headline": "Title",
    "Subheadline": "Title",
    "List-item": "ListItem",
    "BulletedText": "ListItem",
    "Caption": "FigureCaption",
    "Figure": "Image",
    "Picture": "Image",
    "Page-header": "Header",
    "Page-footer": "Footer",
}
"""What layout models call them; the library's partitioners rename most, not all."""
_CHUNKS = frozenset({"CompositeElement", "TableChunk"})
_PLAIN_ALPHABET = str.maketrans("-_", "+/")
_ANY_HEADER = 32 + zlib.MAX_WBITS
_MAX_ORIGINAL_BYTES = 64 << 20
"""Of all `orig_elements` of a document together, unpacked: real ones hold a few kilobytes each."""


def kind_of(element: Element) -> str:
    """The type of an element, by one name whichever model found it."""
    name = name_of(element.get("type"))
    return _LAYOUT_NAMES.get(name, name)


def opened(elements: list[Element], document_id: str, tally: Counter[str]) -> Iterator[Element]:
    """Give the elements of a file, each chunk replaced by the elements in its `orig_elements`.

    Of an element that was cut over several chunks, each of them carries the whole: it comes once.
    A chunk without readable originals stays as it is; so does one made of running heads alone,
    which would else leave no trace.

    Raises:
        ParseError: The originals unpack to more than a document can hold.
    """
    left = _MAX_ORIGINAL_BYTES
    before: list[Element] = []
    for index, element in enumerate(elements):
        metadata = mapping_of(element.get("metadata"))
        packed = metadata.get("orig_elements")
        if kind_of(element) not in _CHUNKS or not isinstance(packed, str | list):
            before = []
            yield element
            continue
        if isinstance(packed, list):
            originals = mappings_of(packed)
        else:
            raw = _unpack(packed, left)
            if raw is None:
                raise ParseError(
                    document_id,
                    f"element {index}",
                    f"orig_elements unpack to more than {_MAX_ORIGINAL_BYTES >> 20} MB in all",
                )
            left -= len(raw)
            originals = _decode(raw)
        if not originals:
            tally["unreadable orig_elements skipped"] += 1
        if all(kind_of(original) in NOISE for original in originals):
            yield element
        else:
            is_continued = metadata.get("is_continuation") is True
            told = before if is_continued or metadata.get("chunk_index") else []
            for original in originals:
                if original not in told:
                    yield _with_place_of(original, metadata)
        before = originals


def _unpack(packed: str, limit: int) -> bytes | None:
    """Decompress base64, of either alphabet, of a zlib or gzip stream.

    Gives b"" for rubbish, and None for more than `limit` bytes.
    """
    letters = "".join(packed.split()).rstrip("=").translate(_PLAIN_ALPHABET)
    try:
        compressed = base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
        stream = zlib.decompressobj(_ANY_HEADER)
        raw = stream.decompress(compressed, limit + 1)
    except (ValueError, zlib.error):
        return b""
    return None if len(raw) > limit else raw


def _decode(raw: bytes) -> list[Element]:
    try:
        return mappings_of(json.loads(raw))
    except (ValueError, RecursionError):
        return []


def _with_place_of(original: Element, chunk: dict[str, Any]) -> Element:
    """Let an original stand where its chunk does, if it does not say so itself."""
    place = {key: chunk[key] for key in ("page_number", "page_name") if key in chunk}
    return original | {"metadata": place | mapping_of(original.get("metadata"))}
