"""Pictures carried as base64: they are no words, and no field is large enough for them."""

import re

_DATA_URI = re.compile(
    r"data:[\w.+-]+/[\w.+-]+(?:;[\w.+-]+(?:=[\w.+-]+)?)*;base64,[\w+/=%-]*", re.ASCII
)


def link_of(uri: object) -> str | None:
    """Where a picture lies; None for nothing, and for a data URI, which is the picture itself."""
    if not isinstance(uri, str) or not uri.strip() or uri.lstrip()[:5].lower() == "data:":
        return None
    return uri.strip()


def without_data_uris(text: str) -> str:
    """Take base64 pictures out of running text."""
    return _DATA_URI.sub("", text) if "base64" in text else text
