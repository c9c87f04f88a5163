"""What an embeddings endpoint answered: vectors placed by index, and what is wrong with others."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

Vector = NDArray[np.float32]


class MalformedAnswerError(ValueError):
    """It is no list of embeddings at all: cut, or something else than the API."""


class BadVectorError(ValueError):
    """This one vector must not be stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    vectors: Mapping[int, Vector]
    """By place in the request; each of shape (dim,) and length 1."""
    refused: Mapping[int, str]
    """Every other place, with the reason."""
    tokens: int | None
    """As the service counted them, if it did."""


def read_answer(body: bytes, inputs: int, dim: int | None) -> Answer:
    """Read the answer to a request of n inputs.

    Args:
        body: JSON of the API's `CreateEmbeddingResponse`; embeddings as floats or base64.
        inputs: n.
        dim: What each vector must have; None takes any.

    Raises:
        MalformedAnswerError: The body as a whole cannot be used.
    """
    # Not the client's own models: they rebuild every float list in Python, without checks.
    try:
        answer = from_json(body)
    except ValueError as error:
        raise MalformedAnswerError(f"the answer is no JSON ({error})") from None
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not items:
        raise MalformedAnswerError("the answer holds no embeddings")
    given = _by_index(items, inputs)
    vectors: dict[int, Vector] = {}
    refused: dict[int, str] = {}
    for place in range(inputs):
        found = given.get(place, [])
        if len(found) != 1:
            refused[place] = f"the service answered with {len(found)} vectors for it"
            continue
        try:
            vectors[place] = unit_vector(found[0], dim)
        except BadVectorError as error:
            refused[place] = f"the service answered with {error}"
    return Answer(vectors=vectors, refused=refused, tokens=_tokens(answer.get("usage")))


def unit_vector(value: Any, dim: int | None) -> Vector:
    """Check one embedding and bring it to length 1.

    Args:
        value: A list of numbers, or base64 of little-endian float32.
        dim: Its length; None takes any.

    Raises:
        BadVectorError: It is empty, not of that length, not finite, or zero.
    """
    numbers = _numbers(value)
    if numbers.ndim != 1:
        raise BadVectorError("something that is no vector")
    if not numbers.size:
        raise BadVectorError("an empty vector")
    if dim is not None and numbers.size != dim:
        raise BadVectorError(f"a vector of {numbers.size} dimensions instead of {dim}")
    if not np.isfinite(numbers).all():
        raise BadVectorError("a vector with NaN, null or infinite numbers")
    largest = np.abs(numbers).max()
    if largest == 0:
        raise BadVectorError("a vector of zeros")
    scaled = numbers / largest  # so that no square overflows or vanishes
    unit: Vector = (scaled / np.linalg.norm(scaled)).astype(np.float32)
    return unit


def _numbers(value: Any) -> NDArray[np.float64]:
    try:
        if isinstance(value, str):
            raw = base64.b64decode(value, validate=True)
            return np.frombuffer(raw, dtype="<f4").astype(np.float64)
        return np.asarray(value, dtype=np.float64)  # null becomes NaN
    except (ValueError, TypeError, binascii.Error):
        raise BadVectorError("something that is no vector") from None


def _by_index(items: list[Any], inputs: int) -> dict[int, list[Any]]:
    given: dict[int, list[Any]] = {}
    for item in items:
        index = item.get("index") if isinstance(item, dict) else None
        if isinstance(index, int) and 0 <= index < inputs:
            given.setdefault(index, []).append(item.get("embedding"))
    return given


def _tokens(usage: Any) -> int | None:
    if not isinstance(usage, dict):
        return None
    count = usage.get("total_tokens") or usage.get("prompt_tokens")
    return count if isinstance(count, int) else None
