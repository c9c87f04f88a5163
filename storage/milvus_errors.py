"""What Milvus says, in our words: the one place that knows its error codes.

Codes are those of the servers since 2.3 (pkg/util/merr). Milvus Lite uses a few of them otherwise
(1 is any fault, 6 a bad argument), and a call that never reached a server carries a gRPC status.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from pymilvus import MilvusException
from pymilvus.exceptions import DataNotMatchException
from pymilvus.grpc_gen import common_pb2

from storage.errors import (
    AccessRefusedError,
    CollectionMismatchError,
    SettingError,
    SlowDownError,
    StorageError,
    StoreUnavailableError,
    UnexpectedAnswerError,
)

STORE = "Milvus"

_CONNECT_FAILED = 2  # pymilvus' own, and the servers' "service unavailable"
_NOT_LOADED = frozenset({101})
_SLOW_DOWN = frozenset({
    3,  # memory limit
    4,  # too many requests at once
    7,  # disk limit
    8,  # rate limit
    9,  # writes denied until below the quota
    10,  # time tick too far behind
})  # fmt: skip
_SLOW_DOWN_BEFORE_2_3 = frozenset({
    common_pb2.RateLimit,
    common_pb2.ForceDeny,
    common_pb2.MemoryQuotaExhausted,
    common_pb2.DiskQuotaExhausted,
    common_pb2.TimeTickLongDelay,
})  # fmt: skip
_UNAVAILABLE = frozenset({
    _CONNECT_FAILED,
    103, 106,  # collection loading, recovering
    202,  # partition loading
    401,  # no replica ready
    501, 503,  # channel not served yet
    601, 602,  # segment not loaded yet
    901, 902, 903, 904, 905,  # a node left or is coming
    1001,  # object storage behind the server
    1302,  # message queue behind the server
    2200,  # rows moved between two steps of a query
})  # fmt: skip
_ACCESS_REFUSED = frozenset({1400, 1401})
_COLLECTION_NOT_FOUND = 100
_DATABASE_NOT_FOUND = 800
_SCHEMA = frozenset({105, 107, 108, 109, 1700, 1701})

_UNREACHABLE = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED, grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL})  # fmt: skip
_UNAUTHORISED = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})

_BAD_CERTIFICATE = ("CERTIFICATE_VERIFY_FAILED", "Hostname Verification Check failed")


class NotLoadedError(StoreUnavailableError):
    """The collection is not in memory; load it and ask again."""


@contextmanager
def our_errors(endpoint: str, call: str, collection: str = "") -> Iterator[None]:
    """Every call goes through here, so that no pymilvus or gRPC error leaves this house.

    Args:
        endpoint: The address, for the message.
        call: What was asked, as a person would say it: "the upsert".
        collection: The collection that the call was about, if any.
    """
    try:
        yield
    except MilvusException as error:
        raise _translate(error, endpoint, call, collection) from error
    except grpc.RpcError as error:
        raise _from_status(error.code(), error.details() or "", endpoint, call) from error
    except grpc.FutureTimeoutError as error:
        raise StoreUnavailableError(STORE, endpoint, f"no answer to {call} in time") from error
    except (ValueError, TypeError) as error:
        # pymilvus checks some arguments itself, and a closed channel is a ValueError
        raise UnexpectedAnswerError(STORE, endpoint, call, _one_line(str(error))) from error


def _translate(  # noqa: PLR0911 (one line for each fate)
    error: MilvusException, endpoint: str, call: str, collection: str
) -> StorageError:
    code, said = error.code, _one_line(error.message)
    if isinstance(code, grpc.StatusCode):
        return _from_status(code, said, endpoint, call)
    cause = error.__cause__
    if isinstance(cause, grpc.RpcError):
        return _from_status(cause.code(), cause.details() or said, endpoint, call)
    if code in _SLOW_DOWN or error.compatible_code in _SLOW_DOWN_BEFORE_2_3:
        return SlowDownError(STORE, said)
    if code in _NOT_LOADED:
        return NotLoadedError(STORE, endpoint, said)
    if code in _ACCESS_REFUSED or "auth check failure" in said:
        return AccessRefusedError(STORE, endpoint, said)
    if code == _COLLECTION_NOT_FOUND:
        return CollectionMismatchError(
            collection, f"it is not there for {call} ({said})", "Run again; the run makes it anew."
        )
    if code == _DATABASE_NOT_FOUND or said.startswith("database "):
        return SettingError("milvus.database", said, "Create it on the server, or name another.")
    if code in _SCHEMA or isinstance(error, DataNotMatchException) or " dim" in said:
        return CollectionMismatchError(
            collection, said, "Its fields are not those of this version; build a new collection."
        )
    if code in _UNAVAILABLE or error.retriable or "not ready" in said or "timeout" in said:
        return StoreUnavailableError(STORE, endpoint, said)
    return UnexpectedAnswerError(STORE, endpoint, call, f"{said} (code {code})")


def _from_status(status: grpc.StatusCode, said: str, endpoint: str, call: str) -> StorageError:
    said = _one_line(said)
    if any(words in said for words in _BAD_CERTIFICATE):
        return SettingError(
            "milvus.ca_file",
            f"the certificate of {endpoint} does not check ({said})",
            "Name the PEM of its authority, and milvus.server_name where it has another name.",
        )
    if status in _UNREACHABLE:
        late = status is grpc.StatusCode.DEADLINE_EXCEEDED
        return StoreUnavailableError(
            STORE, endpoint, f"no answer to {call} in time" if late else said
        )
    if status in _UNAUTHORISED:
        return AccessRefusedError(STORE, endpoint, said)
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" not in said:
        return SlowDownError(STORE, said)
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return SettingError(
            "milvus.uri",
            f"{endpoint} does not answer as Milvus does ({said})",
            "Name the gRPC port of the server (19530 unless it was changed).",
        )
    return UnexpectedAnswerError(STORE, endpoint, call, f"{said} ({status.name})")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
