"""What a retriever would get."""

from typing import Any

from jobs.config import Config
from storage.embeddings import open_embedder
from storage.errors import SettingError
from storage.milvus_lite import reachable
from storage.protocols import SearchMode
from storage.vectors import connect


def search(
    config: Config, query: str, *, mode: SearchMode, top_k: int, filter_expression: str = ""
) -> list[dict[str, Any]]:
    """The best rows behind the alias, best first: the fields of a row, and `score`.

    Raises:
        SettingError: Nothing stands behind the alias, or the filter cannot be read.
    """
    alias = config.milvus.collection
    with reachable(config.milvus) as milvus:
        database = connect(milvus)
        try:
            target = database.alias_target(alias)
            if target is None:
                raise SettingError(
                    f"alias {alias}",
                    f"it does not exist at {config.milvus.uri}",
                    "A run makes it: `kitelift run`.",
                )
            store = database.open(target)
            vector = None
            if mode != "sparse":
                vector = open_embedder(config.embedding).embed([query]).vectors[0]
            hits = store.search(
                text=query,
                vector=vector,
                mode=mode,
                top_k=top_k,
                filter_expression=filter_expression,
            )
        finally:
            database.close()
    return [{"score": hit.score, **hit.row} for hit in hits]
