"""An object store in an S3 bucket: AWS, MinIO, and whatever else speaks it. The keeper of boto3."""

import io
import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

import boto3
import botocore.session
import stamina
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError
from botocore.loaders import create_loader
from pydantic import BaseModel, ConfigDict, Field, field_validator

from storage.errors import ConditionFailedError, ObjectChangedError, SettingError
from storage.protocols import ObjectInfo
from storage.s3_errors import LOST, MISSING, S3Errors, brief, code_of, is_conflict

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from typing_extensions import Buffer

READ_BYTES = 1 << 17
"""Smallest range that a reader of `open` fetches: small, since ids of a file lie far apart."""

_ENDPOINT_VARIABLES = {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}
_MARK = "kitelift-write"
_BROKEN_BODY = (HTTPClientError, IncompleteReadError)
"""Faults while an answer's body arrives, when boto's own retries are over."""


class S3Settings(BaseModel):
    """How to reach S3, where the SDK's own environment (AWS_…) does not say it already."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True
    )

    endpoint_url: str = ""
    """Of MinIO or another S3 server; empty is AWS_ENDPOINT_URL, or AWS itself."""
    region: str = ""
    """Empty is AWS_DEFAULT_REGION."""
    ca_bundle: str = ""
    """File of the certificate authority for https; empty is AWS_CA_BUNDLE, or the system's."""
    connect_timeout_seconds: float = Field(default=5.0, gt=0)
    read_timeout_seconds: float = Field(default=60.0, gt=0)
    """Until the next bytes of an answer must have come."""
    max_attempts: int = Field(default=5, ge=1)
    """Of one request, the first included."""

    @field_validator("endpoint_url")
    @classmethod
    def _is_an_address(cls, endpoint_url: str) -> str:
        url = urlsplit(endpoint_url)
        if endpoint_url and (url.scheme not in {"http", "https"} or not url.hostname):
            raise ValueError(
                f"endpoint_url={endpoint_url!r} is no http(s) address; write it as "
                "`http://host:port`."
            )
        if url.username or url.password:
            raise ValueError(
                "endpoint_url holds credentials; put them into AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY instead."
            )
        return endpoint_url


class S3ObjectStore:
    """The objects of one bucket. Keys are those of the bucket, letter for letter.

    One boto3 client serves listing, control objects and, through `open`, Parquet, which pyarrow
    reads from our reader rather than by its own S3 client: one set of settings, credentials,
    timeouts and errors, and every range is bound to the listed version. Every call stands in a
    `with self._errors.as_ours(key)`, so that no error of boto leaves this file.

    It travels to workers as its bucket and settings; each process makes its own client.
    Credentials come from the SDK's own chain (environment, profile, instance role), never from
    settings.
    """

    def __init__(self, bucket: str, settings: S3Settings) -> None:
        self._bucket, self._settings = bucket, settings
        try:
            self._client = _make_client(settings)
        except (ValueError, OSError, BotoCoreError) as error:
            raise SettingError(
                "[s3]", brief(error), "Correct it in the configuration or in AWS_…."
            ) from error
        self._errors = S3Errors(self.place, self._client.meta.endpoint_url)

    def __reduce__(self) -> tuple[type["S3ObjectStore"], tuple[str, S3Settings]]:
        return S3ObjectStore, (self._bucket, self._settings)

    @property
    def place(self) -> str:
        return f"s3://{self._bucket}"

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """As the protocol says; all of the listing is held, since not every store sorts it."""
        found: dict[str, ObjectInfo] = {}
        with self._errors.as_ours(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=prefix
            )
            for page in pages:
                for item in page.get("Contents", []):
                    key = item["Key"]
                    found[key] = ObjectInfo(key=key, etag=_bare(item["ETag"]), size=item["Size"])
        for key in sorted(found, key=str.encode):
            yield found[key]

    def head(self, key: str) -> ObjectInfo:
        with self._errors.as_ours(key):
            try:
                answer = self._client.head_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if code_of(error) in MISSING:  # HEAD has no body that tells bucket from key
                    self._client.head_bucket(Bucket=self._bucket)
                raise
        return ObjectInfo(key=key, etag=_bare(answer["ETag"]), size=answer["ContentLength"])

    def get(self, key: str) -> tuple[bytes, str]:
        with self._errors.as_ours(key):
            return self._fetch(Key=key)

    def open(self, info: ObjectInfo) -> BinaryIO:
        if self.head(info.key).etag != info.etag:
            raise ObjectChangedError(self.place, info.key)
        return io.BufferedReader(_PinnedObject(self, info), READ_BYTES)

    def read_range(self, info: ObjectInfo, start: int, length: int) -> bytes:
        """Bytes of exactly the version of `info`.

        Raises:
            ObjectChangedError: There is another version now. The answer's own etag is compared
                too: some servers ignore If-Match.
        """
        with self._errors.as_ours(info.key):
            data, etag = self._fetch(
                Key=info.key,
                IfMatch=f'"{info.etag}"',
                Range=f"bytes={start}-{start + length - 1}",
            )
        if etag != info.etag:
            raise ObjectChangedError(self.place, info.key)
        if len(data) != length:
            raise self._errors.unavailable(f"it gave {len(data)} bytes of a range of {length}")
        return data

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_etag: str | None = None
    ) -> str:
        conditions: dict[str, Any] = {}
        if if_absent:
            conditions["IfNoneMatch"] = "*"
        if if_etag is not None:
            conditions["IfMatch"] = f'"{if_etag}"'
        if conditions:
            return self._put_if(key, data, conditions)
        with self._errors.as_ours(key):
            answer = self._client.put_object(Bucket=self._bucket, Key=key, Body=data)
        return _bare(answer["ETag"])

    def delete(self, key: str) -> None:
        with self._errors.as_ours(key):
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def _put_if(self, key: str, data: bytes, conditions: dict[str, Any]) -> str:
        """Write under a condition, and know whether we won.

        An answer may be lost after the server has written. boto then asks again and is told that
        the condition fails: by our own write. So each such write carries a mark to know it by.
        """
        mark = uuid.uuid4().hex
        ask = stamina.RetryingCaller(attempts=self._settings.max_attempts, wait_initial=0.05)
        with self._errors.as_ours(key):
            try:
                # AWS answers 409, and wants to be asked again, while another write is under way.
                answer = ask.on(is_conflict)(
                    self._client.put_object,
                    Bucket=self._bucket,
                    Key=key,
                    Body=data,
                    Metadata={_MARK: mark},
                    **conditions,
                )
                return _bare(answer["ETag"])
            except ClientError as error:
                if code_of(error) not in LOST | MISSING:
                    raise
                if error.response["ResponseMetadata"].get("RetryAttempts", 0):
                    there = self._client.head_object(Bucket=self._bucket, Key=key)
                    if there["Metadata"].get(_MARK) == mark:
                        return _bare(there["ETag"])
                raise ConditionFailedError(self.place, key) from error

    def _fetch(self, **request: Any) -> tuple[bytes, str]:
        """Body and etag. boto repeats a failed request, but not one whose body broke off."""
        attempt = 1
        while True:
            answer = self._client.get_object(Bucket=self._bucket, **request)
            try:
                with closing(answer["Body"]) as body:
                    return body.read(), _bare(answer["ETag"])
            except _BROKEN_BODY:
                if attempt >= self._settings.max_attempts:
                    raise
                attempt += 1


class _PinnedObject(io.RawIOBase):
    """One version of an object as a file; each read is one ranged request."""

    def __init__(self, store: S3ObjectStore, info: ObjectInfo) -> None:
        self._store, self._info, self._position = store, info, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._info.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: "Buffer", /) -> int:
        target = memoryview(buffer).cast("B")
        length = min(len(target), self._info.size - self._position)
        if length <= 0:
            return 0
        target[:length] = self._store.read_range(self._info, self._position, length)
        self._position += length
        return length


def _make_client(settings: S3Settings) -> "S3Client":
    # Servers other than AWS rarely answer to names of buckets as hosts.
    own_endpoint = settings.endpoint_url or not _ENDPOINT_VARIABLES.isdisjoint(os.environ)
    config = Config(
        connect_timeout=settings.connect_timeout_seconds,
        read_timeout=settings.read_timeout_seconds,
        retries={"mode": "standard", "total_max_attempts": settings.max_attempts},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if own_endpoint else "auto"},
        max_pool_connections=32,
    )
    session = botocore.session.Session()
    session.register_component("data_loader", _descriptions())
    return boto3.session.Session(botocore_session=session).client(
        "s3",
        endpoint_url=settings.endpoint_url or None,
        region_name=settings.region or None,
        verify=settings.ca_bundle or None,
        config=config,
    )


@cache
def _descriptions() -> Any:
    """What boto knows of services, read once: most of the time that making a client takes."""
    return create_loader()


def _bare(etag: str) -> str:
    """Without quotes: some servers list it with, and answer without."""
    return etag.strip('"')
