"""What S3 and botocore say of a fault, in the words of storage/errors.py."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    InvalidRegionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    SSLError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from storage.errors import (
    AccessRefusedError,
    BadParquetError,
    ObjectChangedError,
    ObjectMissingError,
    SettingError,
    SlowDownError,
    StorageError,
    StoreUnavailableError,
)

MISSING = {"404", "NoSuchKey", "NotFound", "NoSuchVersion"}
LOST = {"412", "PreconditionFailed"}
_CHANGED = {"416", "InvalidRange", *LOST}
"""Of a read that asked for one version: a range beyond its end is beyond that of another."""
_CONFLICT = {"409", "ConditionalRequestConflict", "OperationAborted"}
_PASSING = {"RequestTimeout", *_CONFLICT}
_REFUSED = {
    "401",
    "403",
    "AccessDenied",
    "AccountProblem",
    "AllAccessDisabled",
    "AuthorizationQueryParametersError",
    "ExpiredToken",
    "Forbidden",
    "InvalidAccessKeyId",
    "InvalidSecurity",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "Unauthorized",
}
_SLOW = {
    "429",
    "RequestLimitExceeded",
    "SlowDown",
    "SlowDownRead",
    "SlowDownWrite",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "TooManyRequestsException",
}
_NO_CREDENTIALS = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)


@dataclass(frozen=True, slots=True)
class S3Errors:
    """Translates for one bucket."""

    place: str
    endpoint: str

    @contextmanager
    def as_ours(self, key: str) -> Iterator[None]:
        """Raise our error for whatever boto raises in the body of the with."""
        try:
            yield
        except ClientError as error:
            raise self._of_answer(error, key) from error
        except _NO_CREDENTIALS as error:
            raise AccessRefusedError("S3", self.endpoint, brief(error)) from error
        except (ParamValidationError, InvalidRegionError) as error:
            raise self._setting(brief(error)) from error
        except SSLError as error:
            raise SettingError(
                "[s3]",
                f"no trusted connection to {self.endpoint}: {brief(error)}",
                "Name the certificate authority's file in [s3].ca_bundle.",
            ) from error
        except (BotoCoreError, ResponseParserError) as error:
            raise self.unavailable(brief(error)) from error

    def _of_answer(self, error: ClientError, key: str) -> StorageError:
        code = code_of(error)
        answer = error.response["ResponseMetadata"]
        reason = brief(f"{code}, {error.response['Error'].get('Message') or error.operation_name}")
        if code == "NoSuchBucket" or (code in MISSING and error.operation_name == "HeadBucket"):
            return SettingError(
                self.place,
                f"there is no such bucket at {self.endpoint}",
                "Create it, or correct the uri.",
            )
        if code in MISSING:
            return ObjectMissingError(self.place, key)
        if code in _CHANGED:
            return ObjectChangedError(self.place, key)
        if code == "InvalidObjectState":
            return BadParquetError(key, "it is archived; restore it first")
        return self._of_service(code, answer, reason)

    def _of_service(self, code: str, answer: Mapping[str, Any], reason: str) -> StorageError:
        """What every request would meet, whatever its key."""
        status = answer.get("HTTPStatusCode", 0)
        if code in _REFUSED:
            return AccessRefusedError("S3", self.endpoint, reason)
        if code in _SLOW or status == 429:
            return SlowDownError("S3", reason, _seconds(answer["HTTPHeaders"].get("retry-after")))
        if status >= 500 or code in _PASSING:
            return self.unavailable(reason)
        return self._setting(reason)

    def unavailable(self, reason: str) -> StoreUnavailableError:
        return StoreUnavailableError("S3", self.endpoint, reason)

    def _setting(self, reason: str) -> SettingError:
        return SettingError(
            self.place,
            f"S3 at {self.endpoint} refused a request ({reason})",
            "Check uri and [s3].",
        )


def is_conflict(error: Exception) -> bool:
    return isinstance(error, ClientError) and code_of(error) in _CONFLICT


def code_of(error: ClientError) -> str:
    return str(error.response["Error"].get("Code", ""))


def brief(reason: object) -> str:
    """On one line, for a sentence to go on after it."""
    return " ".join(str(reason).split())[:200].rstrip(".")


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.isdigit() else None
