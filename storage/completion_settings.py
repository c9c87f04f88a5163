"""The `[completion]` table of the configuration: the chat model of the strategy `llm`."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from storage.addresses import check_base_url


class CompletionSettings(BaseModel):
    """Which chat model proposes cuts. Keys come from the environment only."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True
    )

    model: str = ""
    """Must be set where the strategy is `llm`."""
    base_url: str = ""
    """Of an OpenAI-compatible endpoint, `/v1` included; empty is OpenAI's own."""
    temperature: float = Field(default=0.0, ge=-1, le=2)
    """-1 does not send it: some models refuse every value but their own."""
    json_mode: bool = True
    """Ask for JSON by `response_format`. Off for servers that do not know it."""
    concurrent_requests: int = Field(default=4, ge=1, le=64)
    """In flight at once, per worker: of so many documents."""
    requests_per_minute: int = Field(default=0, ge=0)
    """Shared by all workers of a run, like tokens_per_minute; 0 is no limit."""
    tokens_per_minute: int = Field(default=0, ge=0)
    """Of prompts, as cl100k_base counts them."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """Until one request must have answered."""
    max_attempts: int = Field(default=6, ge=1)
    """Of one request, the first included."""
    first_wait_seconds: float = Field(default=1.0, gt=0)
    """Before the second attempt; doubled for each further one, with jitter."""
    max_wait_seconds: float = Field(default=60.0, gt=0)
    """Of one wait; a longer Retry-After is cut to it."""
    cost_per_million_tokens: float = Field(default=0.0, ge=0)
    """Of prompts and answers, in the currency of the embedder's; 0 is unknown."""

    @model_validator(mode="after")
    def _is_address(self) -> Self:
        check_base_url(self.base_url, "KITELIFT_COMPLETION_API_KEY")
        return self

    @property
    def shaping(self) -> dict[str, str | float | bool]:
        """What shapes answers: for the key of a cached one, and the fingerprint."""
        return {
            "model": self.model,
            "temperature": self.temperature,
            "json_mode": self.json_mode,
        }
