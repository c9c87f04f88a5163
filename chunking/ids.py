"""Identity and hashes: what makes two chunks the same, across retries, machines and years."""

import hashlib
import json
from typing import Any
from uuid import NAMESPACE_URL

import orjson

ID_JOINT = ":chunk:"
"""Between a document's id and the rest of what a chunk id is made of."""

_NAMESPACE = NAMESPACE_URL.bytes
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
"""The digit that holds the variant of RFC 9562, for the digit of the hash in its place."""


def chunk_id(document_id: str, index: int, content: str) -> str:
    """Name a chunk after its document, place and content, so that a retry overwrites.

    Args:
        document_id: The document that the chunk comes from, unaltered.
        index: Its place in the document, from 0.
        content: The final text, heading prefix included.

    Returns:
        A version 5 UUID (RFC 9562, section 5.5), the same on every machine and Python version:
        `str(uuid5(NAMESPACE_URL, f"{document_id}:chunk:{index}:{content}"))`, in half the time.
    """
    name = f"{document_id}{ID_JOINT}{index}:{content}".encode()
    hexed = hashlib.sha1(_NAMESPACE + name, usedforsecurity=False).hexdigest()
    variant = _VARIANT[hexed[16]]
    return f"{hexed[:8]}-{hexed[8:12]}-5{hexed[13:16]}-{variant}{hexed[17:20]}-{hexed[20:32]}"


def content_hash(content: str) -> str:
    """SHA-256 of the embedded text, in hex: equal texts share one vector."""
    return hashlib.sha256(content.encode()).hexdigest()


def payload_hash(payload: Any) -> str:
    """SHA-256 of a row's fields as canonical JSON: finds a change of title or metadata alone."""
    return hashlib.sha256(canonical_json(payload)).hexdigest()


def canonical_json(value: Any) -> bytes:
    """One spelling for equal values: sorted keys, no blanks, UTF-8."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer of more than 64 bits, which Python's own encoder takes
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
