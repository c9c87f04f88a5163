"""What can go wrong at the edges, and what the job does about it.

StorageError
├── StoreUnavailableError      retry       it may answer next time
├── SlowDownError              retry       it asks for less (429, quota codes 8 and 9)
├── ObjectMissingError         set aside   this object only; the rest goes on
├── ObjectChangedError         set aside   overwritten during the run; the next run reads it
├── BadParquetError            set aside   this object only
├── BadDocumentError           set aside   this document only
├── RowRefusedError            set aside   the document whose row does not fit the schema
├── ConditionFailedError       stop        a conditional write lost its race (callers catch it)
├── AccessRefusedError         stop        wrong or missing credentials
├── SettingError               stop        what the configuration names cannot work
├── QuotaExhaustedError        stop        the account has no money left
├── CollectionMismatchError    stop        every later row would fail the same way
├── LedgerDamagedError         stop        the ledger is not what we wrote; guessing would delete
├── UnexpectedAnswerError      stop        a service said what we have no answer to
└── LeaseError                 stop        another run holds the collection, or took it over
"""

from enum import Enum
from typing import ClassVar


class Fate(Enum):
    """The three ways an error can go."""

    RETRY = "retry"
    SET_ASIDE = "set aside"
    STOP = "stop"


class StorageError(Exception):
    """Base of all faults at the edges.

    Subclasses pass their fields to `super().__init__` in order and build the text in `__str__`,
    so that Ray can send them from worker to driver: pickle rebuilds an exception from its args.
    """

    fate: ClassVar[Fate] = Fate.STOP


class StoreUnavailableError(StorageError):
    """A store or service did not answer, or answered with a fault of its own."""

    fate = Fate.RETRY

    def __init__(self, store: str, endpoint: str, reason: str) -> None:
        super().__init__(store, endpoint, reason)
        self.store, self.endpoint, self.reason = store, endpoint, reason

    def __str__(self) -> str:
        return (
            f"{self.store} at {self.endpoint} is unavailable: {self.reason}. "
            "Check that it runs and that the address is right (`kitelift doctor` checks each part)."
        )


class SlowDownError(StorageError):
    """A store or service asks for fewer requests."""

    fate = Fate.RETRY

    def __init__(self, store: str, reason: str, retry_after: float | None = None) -> None:
        super().__init__(store, reason, retry_after)
        self.store, self.reason = store, reason
        self.retry_after = retry_after
        """Seconds it asked for, when it said so."""

    def __str__(self) -> str:
        return (
            f"{self.store} asks to slow down: {self.reason}. "
            "Lower [run].workers or the rates in [limits]."
        )


class ObjectMissingError(StorageError):
    fate = Fate.SET_ASIDE

    def __init__(self, place: str, key: str) -> None:
        super().__init__(place, key)
        self.place, self.key = place, key

    def __str__(self) -> str:
        return f"{self.key} is not in {self.place}; it was deleted or never written."


class ObjectChangedError(StorageError):
    fate = Fate.SET_ASIDE

    def __init__(self, place: str, key: str) -> None:
        super().__init__(place, key)
        self.place, self.key = place, key

    def __str__(self) -> str:
        return f"{self.key} in {self.place} was overwritten during the run; run again to read it."


class BadParquetError(StorageError):
    fate = Fate.SET_ASIDE

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(key, reason)
        self.key, self.reason = key, reason

    def __str__(self) -> str:
        return f"{self.key} cannot be read as parsed documents: {self.reason}"


class BadDocumentError(StorageError):
    fate = Fate.SET_ASIDE

    def __init__(self, document_id: str, stage: str, reason: str) -> None:
        super().__init__(document_id, stage, reason)
        self.document_id, self.stage, self.reason = document_id, stage, reason

    def __str__(self) -> str:
        return f"document {self.document_id!r} failed in stage {self.stage}: {self.reason}"


class RowRefusedError(StorageError):
    """A row that the schema cannot hold; found on our side, before the call."""

    fate = Fate.SET_ASIDE

    def __init__(self, document_id: str, chunk_id: str, field: str, reason: str) -> None:
        super().__init__(document_id, chunk_id, field, reason)
        self.document_id, self.chunk_id, self.field, self.reason = (
            document_id,
            chunk_id,
            field,
            reason,
        )

    def __str__(self) -> str:
        return f"{self.field} of chunk {self.chunk_id} of {self.document_id!r}: {self.reason}"


class ConditionFailedError(StorageError):
    """If-None-Match or If-Match did not hold: somebody else wrote first."""

    def __init__(self, place: str, key: str) -> None:
        super().__init__(place, key)
        self.place, self.key = place, key

    def __str__(self) -> str:
        return f"{self.key} in {self.place} was written by somebody else in the meantime."


class AccessRefusedError(StorageError):
    def __init__(self, store: str, endpoint: str, reason: str) -> None:
        super().__init__(store, endpoint, reason)
        self.store, self.endpoint, self.reason = store, endpoint, reason

    def __str__(self) -> str:
        return (
            f"{self.store} at {self.endpoint} refused the credentials: {self.reason}. "
            "Set them in the environment (see docs/operations.md) and try again."
        )


class SettingError(StorageError):
    """What the configuration names cannot work; `advice` says what to write instead."""

    def __init__(self, setting: str, reason: str, advice: str) -> None:
        super().__init__(setting, reason, advice)
        self.setting, self.reason, self.advice = setting, reason, advice

    def __str__(self) -> str:
        return f"{self.setting}: {self.reason}. {self.advice}"


class QuotaExhaustedError(StorageError):
    def __init__(self, service: str, reason: str) -> None:
        super().__init__(service, reason)
        self.service, self.reason = service, reason

    def __str__(self) -> str:
        return (
            f"{self.service} says that the quota is used up: {self.reason}. Raise it, then rerun."
        )


class CollectionMismatchError(StorageError):
    """The collection differs from what the configuration would write into it."""

    def __init__(self, collection: str, difference: str, advice: str) -> None:
        super().__init__(collection, difference, advice)
        self.collection, self.difference, self.advice = collection, difference, advice

    def __str__(self) -> str:
        return f"collection {self.collection}: {self.difference}. {self.advice}"


class UnexpectedAnswerError(StorageError):
    """A service refused a call for a reason that this project does not know."""

    def __init__(self, store: str, endpoint: str, call: str, reason: str) -> None:
        super().__init__(store, endpoint, call, reason)
        self.store, self.endpoint, self.call, self.reason = store, endpoint, call, reason

    def __str__(self) -> str:
        return (
            f"{self.store} at {self.endpoint} refused {self.call}: {self.reason}. "
            "See its own log for the cause; `kitelift doctor` checks what it can do."
        )


class LedgerDamagedError(StorageError):
    """An object of the ledger cannot be read, and what it told cannot be had elsewhere."""

    def __init__(self, place: str, key: str, reason: str, advice: str) -> None:
        super().__init__(place, key, reason, advice)
        self.place, self.key, self.reason, self.advice = place, key, reason, advice

    def __str__(self) -> str:
        return f"the ledger is damaged: {self.key} in {self.place}: {self.reason}. {self.advice}"


class LeaseError(StorageError):
    """Another run holds the collection, or took it over while this one was away."""

    def __init__(self, collection: str, holder: str, advice: str) -> None:
        super().__init__(collection, holder, advice)
        self.collection, self.holder, self.advice = collection, holder, advice

    def __str__(self) -> str:
        return f"collection {self.collection} is held by {self.holder}. {self.advice}"
