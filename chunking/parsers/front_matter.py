"""YAML front matter: the part between two `---` lines at the head of a Markdown file."""

import re
from collections import Counter

import yaml

from chunking.text import clean_text

# From the first line to the first line that ends it; both CR and LF end a line.
_FRONT_MATTER = re.compile(
    r"\ufeff?---[ \t]*(?:\r\n?|\n)(.*?(?:\r\n?|\n))??(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL
)
_LOOKS_LIKE_KEYS = re.compile(r"\s*(?:#[^\n]*\n\s*)*+[\w.-]+[ \t]*:(?:\s|\Z)")
_MAX_CHARS = 100_000


def split_front_matter(markdown: str, tally: Counter[str]) -> tuple[dict[str, str], int]:
    """Find the front matter of a Markdown file.

    Returns:
        Its scalars as written, and the offset at which the Markdown begins: 0 without one. Two
        `---` lines around ordinary text are rules, not front matter. Keys that cannot be read
        are noted in `tally`.
    """
    match = _FRONT_MATTER.match(markdown[:_MAX_CHARS])
    if match is None:
        return {}, 0
    source = clean_text(match[1] or "")
    try:
        keys = yaml.load(source, Loader=yaml.CBaseLoader)  # noqa: S506  # it makes strings only
    except (yaml.YAMLError, RecursionError):
        if not _LOOKS_LIKE_KEYS.match(source):
            return {}, 0
        tally["unreadable front matter skipped"] += 1
        return {}, match.end()
    if not isinstance(keys, dict):
        return {}, 0 if source.strip() else match.end()
    scalars = {
        key: value
        for key, value in keys.items()
        if isinstance(key, str) and isinstance(value, str) and value
    }
    return scalars, match.end()
