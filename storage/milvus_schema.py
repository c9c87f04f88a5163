"""The collection as Milvus sees it: fields, indexes, and what it says of itself."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pymilvus import CollectionSchema, DataType, Function, FunctionType, MilvusClient
from pymilvus.milvus_client import IndexParams

from storage.errors import CollectionMismatchError
from storage.protocols import CollectionSpec
from storage.rows import HEADING_BYTES, HEADING_LEVELS, VARCHAR_BYTES

SCHEMA_VERSION = 1
"""Raised with every change that makes older collections unusable."""

SPEC_PROPERTY = "kitelift.spec"
"""Collection property with the spec as JSON; Milvus Lite drops the description, so it is here."""

PRIMARY_KEY = "chunk_id"
DENSE = "dense"
SPARSE = "sparse"

NUMBERS = {
    "part": DataType.INT64,
    "chunk_index": DataType.INT64,
    "char_start": DataType.INT64,
    "char_end": DataType.INT64,
    "token_count": DataType.INT64,
    "page": DataType.INT64,
    "slide": DataType.INT64,
    "ts_start": DataType.DOUBLE,
    "ts_end": DataType.DOUBLE,
}
_JSONS = ("bbox", "metadata")
_LOOKED_UP = ("document_id", "content_hash")
"""Fields that the job itself filters by."""

PAYLOAD_FIELDS = (*VARCHAR_BYTES, *NUMBERS, *_JSONS, "heading_path")
"""Every field but the vectors."""

_TYPES = {
    **dict.fromkeys(VARCHAR_BYTES, DataType.VARCHAR),
    **NUMBERS,
    **dict.fromkeys(_JSONS, DataType.JSON),
    "heading_path": DataType.ARRAY,
    DENSE: DataType.FLOAT_VECTOR,
}

_NOT_OURS = "Choose another name in [milvus].collection, or drop the collection yourself."
_REBUILD = "Build a new collection (`kitelift run --full`), or use the version that made it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a server can do, by its version."""

    lite: bool
    bm25: bool
    """Text in, sparse vector out, on the server's side."""
    inverted_index: bool
    """Scalar indexes of type INVERTED; servers before 2.4 have only Trie for strings."""


def abilities_of(version: str) -> Abilities:
    """Read off what `MilvusClient.get_server_version` says: `v2.3.5-lite`, `milvus_lite-3.2.2`.

    A version without leading numbers (a managed service) counts as a new one. The suffix `-lite`
    is carried by embedded builds of the real server, which are no Milvus Lite.
    """
    if version.startswith("milvus_lite"):
        return Abilities(lite=True, bm25=True, inverted_index=True)
    numbers = version.removeprefix("v").split("-")[0].split(".")
    try:
        release = (int(numbers[0]), int(numbers[1]))
    except (ValueError, IndexError):
        release = (9, 9)
    return Abilities(lite=False, bm25=release >= (2, 5), inverted_index=release >= (2, 4))


def schema_of(spec: CollectionSpec, *, analyzer: str, bm25: bool) -> CollectionSchema:
    """The fields of SPEC section 3; no nullable ones, which servers before 2.5 refuse."""
    schema = MilvusClient.create_schema(
        auto_id=False, enable_dynamic_field=False, description=encode_spec(spec)
    )
    for name, limit in VARCHAR_BYTES.items():
        analysed = (
            {"enable_analyzer": True, "analyzer_params": {"tokenizer": analyzer}}
            if bm25 and name == "content"
            else {}
        )
        schema.add_field(
            name, DataType.VARCHAR, max_length=limit, is_primary=name == PRIMARY_KEY, **analysed
        )
    for name, kind in NUMBERS.items():
        schema.add_field(name, kind)
    for name in _JSONS:
        schema.add_field(name, DataType.JSON)
    schema.add_field(
        "heading_path",
        DataType.ARRAY,  # array_contains(heading_path, "…") in filters
        element_type=DataType.VARCHAR,
        max_capacity=HEADING_LEVELS,
        max_length=HEADING_BYTES,
    )
    schema.add_field(DENSE, DataType.FLOAT_VECTOR, dim=spec.dim)
    if bm25:
        schema.add_field(SPARSE, DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function(
                name="bm25",
                function_type=FunctionType.BM25,
                input_field_names=["content"],
                output_field_names=[SPARSE],
            )
        )
    return schema


def indexes_of(abilities: Abilities, *, sparse: bool) -> IndexParams:
    """An index for each vector field, and for the fields that the job looks rows up by."""
    indexes = IndexParams()
    indexes.add_index(
        DENSE,
        index_type="HNSW",
        index_name=DENSE,
        metric_type="COSINE",
        params={"M": 16, "efConstruction": 200},  # 2.3 refuses HNSW without both
    )
    if sparse:
        indexes.add_index(
            SPARSE, index_type="SPARSE_INVERTED_INDEX", index_name=SPARSE, metric_type="BM25"
        )
    for name in _LOOKED_UP:
        indexes.add_index(
            name, index_type="INVERTED" if abilities.inverted_index else "Trie", index_name=name
        )
    return indexes


def encode_spec(spec: CollectionSpec) -> str:
    return json.dumps({"schema": SCHEMA_VERSION, **asdict(spec)}, ensure_ascii=False)


def read_spec(collection: str, description: Mapping[str, Any]) -> CollectionSpec:
    """What a collection says of itself, checked against its fields.

    Args:
        collection: Its name, for the errors.
        description: As `MilvusClient.describe_collection` gives it.

    Raises:
        CollectionMismatchError: It is not ours, or its fields are not those of this version.
    """
    properties = description.get("properties") or {}
    text = properties.get(SPEC_PROPERTY) or description.get("description") or ""
    try:
        said = json.loads(text)
        schema = said.pop("schema")
        spec = CollectionSpec(**said)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise CollectionMismatchError(
            collection, "it was not made by kitelift", _NOT_OURS
        ) from error
    if schema != SCHEMA_VERSION:
        raise CollectionMismatchError(
            collection, f"its schema is version {schema}, this is {SCHEMA_VERSION}", _REBUILD
        )
    if differences := _differences(spec.dim, description["fields"]):
        raise CollectionMismatchError(collection, "; ".join(differences), _REBUILD)
    return spec


def has_sparse(description: Mapping[str, Any]) -> bool:
    return any(field["name"] == SPARSE for field in description["fields"])


def _differences(dim: int, fields: Sequence[Mapping[str, Any]]) -> list[str]:
    found = {field["name"]: field for field in fields if field["name"] != SPARSE}
    differences = [f"field {name} is missing" for name in _TYPES if name not in found]
    differences += [f"field {name} is foreign" for name in found if name not in _TYPES]
    for name in _TYPES.keys() & found.keys():
        kind, params = DataType(found[name]["type"]), found[name]["params"]
        if kind != _TYPES[name]:
            differences.append(f"field {name} is {kind.name} instead of {_TYPES[name].name}")
        elif name == DENSE and int(params["dim"]) != dim:
            differences.append(f"field {name} has dim {params['dim']} instead of {dim}")
        elif name in VARCHAR_BYTES and int(params["max_length"]) < VARCHAR_BYTES[name]:
            differences.append(
                f"field {name} holds {params['max_length']} bytes instead of {VARCHAR_BYTES[name]}"
            )
    return sorted(differences)
