"""Identity and hashes: what makes two chunks the same, across retries, machines and years."""

import hashlib
import json
from typing import Any
from uuid import NAMESPACE_URL

import orjson

ID_JOINT = ":chunk:"
"""Between a document's id and the rest of what a chunk id is made of."""


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
    digest = bytearray(hashlib.sha1(NAMESPACE_URL.bytes + name, usedforsecurity=False).digest())
    digest[6] = digest[6] & 0x0F | 0x50  # version 5
    digest[8] = digest[8] & 0x3F | 0x80  # variant of RFC 9562
    digits = digest.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


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
