"""Every error has a fate, an example, a sentence that helps, and survives the way to the driver."""

import inspect
import pickle

import pytest

from storage import errors
from storage.errors import Fate, StorageError

EXAMPLES: list[tuple[StorageError, Fate]] = [
    (errors.StoreUnavailableError("S3", "http://minio:9000", "timed out"), Fate.RETRY),
    (errors.SlowDownError("the embedding service", "429", retry_after=2.5), Fate.RETRY),
    (errors.ObjectMissingError("s3://bucket", "in/报告.parquet"), Fate.SET_ASIDE),
    (errors.ObjectChangedError("s3://bucket", "in/x.parquet"), Fate.SET_ASIDE),
    (errors.BadParquetError("in/x.parquet", "it is empty"), Fate.SET_ASIDE),
    (errors.BadDocumentError("指南", "read", "row 3 is not UTF-8"), Fate.SET_ASIDE),
    (errors.RowRefusedError("d", "chunk-id", "title", "70,000 bytes"), Fate.SET_ASIDE),
    (errors.ConditionFailedError("s3://bucket", "state/lease.json"), Fate.STOP),
    (errors.AccessRefusedError("S3", "http://minio:9000", "InvalidAccessKeyId"), Fate.STOP),
    (errors.SettingError("[source].uri", "no such bucket", "Create it."), Fate.STOP),
    (errors.QuotaExhaustedError("openai", "insufficient_quota"), Fate.STOP),
    (errors.CollectionMismatchError("docs", "dim 384, not 512", "Name another."), Fate.STOP),
    (errors.LedgerDamagedError("s3://b", "docs/lease.json", "cut", "Delete it."), Fate.STOP),
    (errors.UnexpectedAnswerError("Milvus", "http://host:19530", "upsert", "code 99"), Fate.STOP),
    (errors.LeaseError("docs", "run 7 on host a", "Wait for it."), Fate.STOP),
]
every_error = pytest.mark.parametrize(
    ("error", "fate"), EXAMPLES, ids=[type(error).__name__ for error, _ in EXAMPLES]
)


def test_there_is_an_example_of_every_error():
    declared = {
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, StorageError) and cls is not StorageError
    }

    assert {type(error) for error, _ in EXAMPLES} == declared


@every_error
def test_an_error_survives_the_way_from_worker_to_driver(error, fate):
    copy = pickle.loads(pickle.dumps(error))

    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


@every_error
def test_an_error_has_its_fate_and_the_table_says_the_same(error, fate):
    assert error.fate is fate
    (line,) = (
        row for row in (errors.__doc__ or "").splitlines() if f" {type(error).__name__} " in row
    )
    assert f"  {fate.value} " in line


@every_error
def test_an_error_tells_all_it_knows_in_one_line(error, fate):
    text = str(error)

    assert "\n" not in text
    for value in vars(error).values():
        assert isinstance(value, float) or str(value) in text


def test_a_base_error_would_stop_the_run():
    """An error that nobody thought about must not be retried for ever, nor set a document aside."""
    assert StorageError.fate is Fate.STOP
