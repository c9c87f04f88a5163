"""Retries as a person reads them, in place of the library's own event names."""

import logging

from stamina.instrumentation import RetryDetails, set_on_retry_hooks

LOG = logging.getLogger("kitelift")


def set_up_logging() -> None:
    """Warnings to stderr, a sentence each."""
    logging.basicConfig(format="kitelift: %(message)s", level=logging.WARNING)
    set_on_retry_hooks([_tell])


def _tell(details: RetryDetails) -> None:
    LOG.warning("%s (try %d in %.0f s)", details.caused_by, details.retry_num + 1, details.wait_for)
