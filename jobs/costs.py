"""What models cost, by the prices of the configuration; 0 where none is given."""

from jobs.config import Config
from storage.records import Tally


def embedding_cost(work: Tally, config: Config) -> float:
    """Of the texts that were embedded: chunks, and sentences to cut by."""
    return price(work.embedded_tokens, config.embedding.cost_per_million_tokens)


def completion_cost(work: Tally, config: Config) -> float:
    """Of prompts and answers of the chat model."""
    return price(work.completion_tokens, config.completion.cost_per_million_tokens)


def price(tokens: int, per_million: float) -> float:
    return tokens / 1e6 * per_million
