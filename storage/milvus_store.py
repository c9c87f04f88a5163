"""One collection of a Milvus: its rows written, found and deleted.

Every read is strongly consistent. The servers' default lets an acknowledged row stay unseen for
seconds, and a row that a delete does not find is a stale row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymilvus import AnnSearchRequest, RRFRanker

from chunking.model import Chunk
from storage.errors import CollectionMismatchError, SettingError, UnexpectedAnswerError
from storage.milvus_calls import MilvusCalls
from storage.milvus_errors import NotLoadedError
from storage.milvus_filters import any_of
from storage.milvus_schema import DENSE, PAYLOAD_FIELDS, PRIMARY_KEY, SPARSE, Abilities
from storage.protocols import Check, Hit, RowKey, SearchMode, Vectors, unchecked
from storage.rows import KEY_FIELDS, batches, key_of, rows_of

_MAX_ROWS = 16_384
"""Of one answer; servers refuse to send more. Milvus Lite reads all its rows for each answer."""
_DOCUMENTS_PER_FILTER = 200
_HASHES_PER_FILTER = 1_000
_IDS_PER_DELETE = 2_000
_ROWS_PER_READ = 500
"""Whole rows, of up to 64 KB each."""
_LITE_REQUEST_BYTES = 2**20
"""Milvus Lite analyses text in Python, a few hundred KB of Chinese a second."""
_RRF_K = 60
"""Of reciprocal-rank fusion, as in Cormack, Clarke and Buettcher (SIGIR 2009)."""
_SEARCH_BREADTH = 128
"""HNSW's `ef` at least: neighbours kept in view while searching."""
_STRONG = {"consistency_level": "Strong"}
_ON_OUR_SIDE = {"retry_on_rate_limit": False}
"""pymilvus would wait by itself, unseen, when the server asks for less."""


class MilvusStore:
    """One collection of a Milvus."""

    def __init__(
        self,
        collection: str,
        *,
        dim: int,
        sparse: bool,
        abilities: Abilities,
        calls: MilvusCalls,
        request_bytes: int,
    ) -> None:
        self._collection = collection
        self._dim = dim
        self._sparse = sparse
        self._abilities = abilities
        self._calls = calls
        self._request_bytes = request_bytes
        if abilities.lite:
            self._request_bytes = min(request_bytes, _LITE_REQUEST_BYTES)
        self._answer_bytes = request_bytes

    @property
    def collection(self) -> str:
        return self._collection

    def load(self) -> None:
        """Bring it into memory; no fault if it is there. Reads need it, writes do not."""
        self._ask("the load", self._calls.client.load_collection)

    def upsert(
        self,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        *,
        run_id: str,
        object_key: str,
        check: Check = unchecked,
    ) -> None:
        rows = rows_of(
            chunks,
            vectors,
            dim=self._dim,
            collection=self._collection,
            run_id=run_id,
            object_key=object_key,
        )
        for batch in batches(rows, self._request_bytes):
            upsert = _checked(check, self._calls.client.upsert)
            self._ask("the upsert", upsert, batch, **_ON_OUR_SIDE)

    def delete(self, chunk_ids: Sequence[str], *, check: Check = unchecked) -> None:
        for batch in _batched(chunk_ids, _IDS_PER_DELETE):
            expression = any_of(PRIMARY_KEY, batch)
            delete = _checked(check, self._calls.client.delete)
            self._ask("the delete", delete, filter=expression, **_ON_OUR_SIDE)

    def keys_of(self, document_ids: Sequence[str]) -> list[RowKey]:
        keys: list[RowKey] = []
        for batch in _batched(document_ids, _DOCUMENTS_PER_FILTER):
            expression = any_of("document_id", batch)
            rows = self._query(expression, KEY_FIELDS, limit=_MAX_ROWS)
            if len(rows) == _MAX_ROWS:  # there may be more: begin again, page by page
                keys += map(key_of, self._pages(expression))
            else:
                keys += map(key_of, rows)
        return sorted(keys, key=lambda key: key.chunk_id)

    def keys_at(self, chunk_ids: Sequence[str]) -> list[RowKey]:
        keys: list[RowKey] = []
        for batch in _batched(chunk_ids, _IDS_PER_DELETE):
            rows = self._query(any_of(PRIMARY_KEY, batch), KEY_FIELDS, limit=_MAX_ROWS)
            keys += map(key_of, rows)
        return sorted(keys, key=lambda key: key.chunk_id)

    def rows_at(self, chunk_ids: Sequence[str]) -> list[Mapping[str, Any]]:
        rows: list[dict[str, Any]] = []
        for batch in _batched(chunk_ids, _ROWS_PER_READ):
            expression = any_of(PRIMARY_KEY, batch)
            rows += self._query(expression, PAYLOAD_FIELDS, limit=_ROWS_PER_READ)
        return sorted(rows, key=lambda row: str(row[PRIMARY_KEY]))

    def vectors_of(self, content_hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        for batch in _batched(content_hashes, _HASHES_PER_FILTER):
            found |= self._some_vectors(set(batch))
        return found

    def count(self) -> int:
        (answer,) = self._query("", ["count(*)"], limit=None)
        return int(answer["count(*)"])

    def scan(self, id_prefix: str = "") -> Iterator[RowKey]:
        return map(key_of, self._pages(f'{PRIMARY_KEY} like "{id_prefix}%"'))

    def search(
        self,
        *,
        text: str,
        vector: NDArray[np.float32] | None,
        mode: SearchMode,
        top_k: int,
        filter_expression: str = "",
    ) -> list[Hit]:
        if mode != "dense" and not self._sparse:
            raise SettingError(
                f"search mode {mode}",
                f"collection {self._collection} has no BM25 field; the server must be Milvus 2.5 "
                "or later, or Milvus Lite, when it is built",
                "Use --mode dense, or build it anew on such a server.",
            )
        if not 1 <= top_k <= _MAX_ROWS:
            raise SettingError(
                f"top_k={top_k}", f"Milvus gives 1 to {_MAX_ROWS} rows", "Ask for fewer."
            )
        client, options = self._calls.client, {"output_fields": [*PAYLOAD_FIELDS], **_STRONG}
        requests = [
            AnnSearchRequest(limit=top_k, expr=filter_expression, **request)
            for request in self._requests(text, vector, mode, top_k)
        ]
        try:
            if len(requests) == 1:
                (only,) = requests
                (answer,) = self._read(
                    "the search",
                    client.search,
                    data=only.data,
                    anns_field=only.anns_field,
                    search_params=only.param,
                    filter=filter_expression,
                    limit=top_k,
                    **options,
                )
            else:
                (answer,) = self._read(
                    "the search",
                    client.hybrid_search,
                    requests,
                    RRFRanker(_RRF_K),
                    top_k,
                    **options,
                )
        except UnexpectedAnswerError as error:
            if not filter_expression:
                raise
            raise SettingError(
                f"filter {filter_expression!r}",
                error.reason,
                "Fields are those of docs/data-model.md; strings stand in double quotes.",
            ) from error
        # Milvus Lite gives BM25 as a distance: the best is the most negative.
        sign = -1.0 if mode == "sparse" and self._abilities.lite else 1.0
        return [Hit(score=sign * hit["distance"], row=dict(hit["entity"])) for hit in answer]

    def _requests(
        self, text: str, vector: NDArray[np.float32] | None, mode: SearchMode, top_k: int
    ) -> Iterator[dict[str, Any]]:
        if mode != "sparse":
            if vector is None or vector.shape != (self._dim,):
                raise CollectionMismatchError(
                    self._collection,
                    f"its vectors have {self._dim} dimensions, that of the query has "
                    f"{0 if vector is None else len(vector)}",
                    "Embed the query with the model that the collection was built with.",
                )
            breadth = {"ef": max(_SEARCH_BREADTH, top_k)}
            param = {"metric_type": "COSINE", "params": breadth}
            yield {"data": [vector.astype(np.float32)], "anns_field": DENSE, "param": param}
        if mode != "dense":
            yield {"data": [text], "anns_field": SPARSE, "param": {"metric_type": "BM25"}}

    def _some_vectors(self, wanted: set[str]) -> dict[str, NDArray[np.float32]]:
        """Look the hashes up, in answers of bounded size however many rows share a text."""
        found: dict[str, NDArray[np.float32]] = {}
        limit = max(1, min(_MAX_ROWS, self._answer_bytes // (4 * self._dim + 100)))
        while wanted:
            expression = any_of("content_hash", sorted(wanted))
            rows = self._query(expression, ["content_hash", DENSE], limit=limit)
            for row in rows:
                if row["content_hash"] not in found:
                    found[row["content_hash"]] = np.asarray(row[DENSE], dtype=np.float32)
            if len(rows) < limit:
                break
            wanted -= found.keys()
        return found

    def _pages(self, expression: str) -> Iterator[dict[str, Any]]:
        """The keys of any number of rows, in bounded memory, strongly consistent at the start."""
        # pymilvus' iterators take no consistency level. A strong read before them does it: what
        # it has waited for, the pages see.
        self._query(expression, KEY_FIELDS, limit=1)
        pages = self._read(
            "the scan",
            self._calls.client.query_iterator,
            batch_size=_MAX_ROWS,
            filter=expression,
            output_fields=[*KEY_FIELDS],
        )
        # A page that failed is asked for again: the cursor moves only with an answer.
        while page := self._calls.again("the scan", pages.next, about=self._collection):
            yield from page

    def _query(
        self, expression: str, fields: Sequence[str], limit: int | None
    ) -> list[dict[str, Any]]:
        return list(
            self._read(
                "the query",
                self._calls.client.query,
                filter=expression,
                output_fields=[*fields],
                limit=limit,
                **_STRONG,
            )
        )

    def _read(self, call: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return self._ask(call, method, *args, **kwargs)
        except NotLoadedError:  # released by somebody, or the server was started anew
            self.load()
            return self._ask(call, method, *args, **kwargs)

    def _ask(self, call: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._calls.ask(
            call, method, self._collection, *args, about=self._collection, **kwargs
        )


def _checked(check: Check, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with the check before each call: minutes may pass between two tries."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        check()
        return method(*args, **kwargs)

    return checked


def _batched(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[start : start + size] for start in range(0, len(values), size))
