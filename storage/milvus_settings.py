"""The `[milvus]` table of the configuration."""

from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator


class MilvusSettings(BaseModel):
    """Where the vectors go, and how calls are made.

    The token comes from the environment only: `KITELIFT_MILVUS_TOKEN` or `MILVUS_TOKEN`, as
    `user:password` or an API key.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    uri: str = Field(default="./milvus.db", min_length=1)
    """`http(s)://host:port` of a server (2.3 or later), or a path: the folder of Milvus Lite."""
    collection: str = Field(default="docs", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$")
    """The alias that readers use; the collections behind it carry its name and a suffix."""
    database: str = ""
    """Empty is the server's default one."""
    ca_file: str = ""
    """PEM of the authority behind an https server; empty trusts gRPC's own list."""
    server_name: str = ""
    """The name in the server's certificate, where it is not the host of the URI."""
    analyzer: str = Field(default="jieba", min_length=1)
    """Tokenizer of BM25 search. jieba finds Chinese and English words, on servers and in Lite."""
    timeout_seconds: float = Field(default=60.0, gt=0)
    """Until one call must have answered; Milvus Lite halts for 4-6 s at times."""
    connect_seconds: float = Field(default=15.0, gt=0)
    """Until a server must have answered for the first time."""
    retry_seconds: float = Field(default=120.0, ge=0)
    """How long a failing call is made again; a restarted server needs 45 s. 0 is never."""
    request_bytes: int = Field(default=8 * 2**20, ge=2**16, le=32 * 2**20)
    """Of one upsert, about; servers refuse 64 MiB."""

    @property
    def is_path(self) -> bool:
        """Whether `uri` names a folder of Milvus Lite, which must be served first."""
        return "://" not in self.uri

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.is_path:
            return self
        url = urlsplit(self.uri)
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise ValueError(
                f"uri={self.uri!r} is no http(s) address; write it as `http://host:19530`, or as "
                "a path for Milvus Lite."
            )
        if url.username or url.password or url.query:
            raise ValueError(
                "uri carries credentials; put them into KITELIFT_MILVUS_TOKEN instead."
            )
        if url.scheme == "http" and (self.ca_file or self.server_name):
            raise ValueError(
                f"ca_file and server_name are for https, but uri={self.uri!r}; write https://."
            )
        return self
