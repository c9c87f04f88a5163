"""Chunks for the tests of this folder: valid as they are, and changed by keyword."""

import uuid
from typing import Any

import numpy as np

from chunking.ids import chunk_id, content_hash
from chunking.model import Chunk

DIM = 8


def a_chunk(document_id: str = "guide", index: int = 0, **changes: Any) -> Chunk:
    content = changes.pop("content", f"Guide\nParagraph {index} of {document_id!r}.")
    fields = {
        "chunk_id": chunk_id(document_id, index, content.encode(errors="replace").decode()),
        "document_id": document_id,
        "content": content,
        "title": "Guide",
        "parent_title": "Guide",
        "part": 1,
        "heading_path": ("Guide",),
        "chunk_index": index,
        "kind": "paragraph",
        "strategy": "structure",
        "token_count": 7,
        "content_hash": content_hash(content.encode(errors="replace").decode()),
        "payload_hash": "0" * 64,
        "source": "docs/guide.md",
        "file_title": "Guide",
    }
    return Chunk(**fields | changes)


def some_vectors(count: int, seed: int = 0, dim: int = DIM) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def put(store, chunks, vectors=None) -> np.ndarray:
    """Upsert with vectors made up here, if none are given, and give those back."""
    vectors = some_vectors(len(chunks)) if vectors is None else vectors
    store.upsert(chunks, vectors, run_id="run-1", object_key="in/part-0.parquet")
    return vectors


def unused_document() -> str:
    """A document id that no other test uses: the collection is shared."""
    return f"doc-{uuid.uuid4()}"


def ids_of(store, document_id):
    return [key.chunk_id for key in store.keys_of([document_id])]


def nearest(store, vector, document, top_k=10):
    return store.search(
        text="",
        vector=vector,
        mode="dense",
        top_k=top_k,
        filter_expression=f'document_id == "{document}"',
    )
