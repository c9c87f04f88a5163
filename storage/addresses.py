"""Addresses of OpenAI-compatible endpoints, as the configuration may name them."""

from urllib.parse import urlsplit


def check_base_url(base_url: str, key: str) -> None:
    """Refuse what is no address, or holds a secret. Empty is OpenAI's own.

    Args:
        base_url: As it is configured.
        key: Name of the variable that the key belongs in.

    Raises:
        ValueError: It says how to write it.
    """
    url = urlsplit(base_url)
    if base_url and (url.scheme not in {"http", "https"} or not url.hostname):
        raise ValueError(
            f"base_url={base_url!r} is no http(s) address; write it as `http://host:port/v1`."
        )
    if url.username or url.password or url.query:
        raise ValueError(f"base_url carries credentials; put the key into {key} instead.")
