"""`kitelift config`: a file with every key, its default, and what it means."""

import inspect
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from chunking.structure import StructureAwareChunker
from jobs.config import Config

WIDTH = 96
HEAD = """\
# Every key of Kitelift with its default. Keep the lines that you change.
# Secrets are read from the environment only: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
# KITELIFT_MILVUS_TOKEN, KITELIFT_EMBEDDING_API_KEY (or OPENAI_API_KEY),
# KITELIFT_COMPLETION_API_KEY (or OPENAI_API_KEY), KITELIFT_RERANK_API_KEY.
"""


def settings_page() -> str:
    """The page as TOML; parsed again it is the default configuration."""
    lines = [HEAD]
    for name, field in Config.model_fields.items():
        section = field.annotation
        assert inspect.isclass(section)
        assert issubclass(section, BaseModel)
        lines.append(f"[{name}]")
        lines += _keys(section)
        if name == "chunking":
            lines += _strategy_options()
        lines.append("")
    return "\n".join(lines)


def _keys(section: type[BaseModel]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield from _comment(field.description or "")
        yield f"{field.serialization_alias or name} = {_toml(field.get_default())}"


def _strategy_options() -> Iterator[str]:
    """Options of the default strategy; the others have their own (docs/strategies.md)."""
    yield "# Options of the strategy `structure`, whose docstring tells them."
    for parameter in inspect.signature(StructureAwareChunker).parameters.values():
        if isinstance(parameter.default, str | int | float | bool):
            yield f"{parameter.name} = {_toml(parameter.default)}"


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(" ".join(text.replace("`", "").split()), WIDTH):
        yield f"# {line}"


def _toml(value: Any) -> str:
    """TOML writes strings, numbers and booleans as JSON does."""
    return json.dumps(value, ensure_ascii=False)
