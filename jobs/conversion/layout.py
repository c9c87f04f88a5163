"""Where one object of a target ends and the next begins, and how they are called.

Documents stand in the order of their paths, and the cuts depend on the documents near them alone,
as in content-defined chunking: a change moves a cut or two, and the objects beyond stay as they
are. What an incremental call leaves is therefore what a first call would have made.
"""

import hashlib

OBJECT_BYTES = 64 << 20
"""Decoded."""


class Cutter:
    """Told of one document after another, says where an object ends.

    It ends with the document that fills it, or from its half on with one whose hash says so, as
    one in a quarter of an object does.
    """

    def __init__(self, object_bytes: int = OBJECT_BYTES) -> None:
        self._object_bytes = object_bytes
        self._size = 0
        self.name = object_name(None)
        """Of the object that the next document goes to."""

    def ends_after(self, order: tuple[str, str], size: int) -> bool:
        """Whether this document, of `size` decoded bytes, is the last of its object."""
        self._size += size
        is_cut = int(_hash(order)[:16], 16) * self._object_bytes < (4 * size) << 64
        if self._size < self._object_bytes and not (
            is_cut and 2 * self._size >= self._object_bytes
        ):
            return False
        self._size = 0
        self.name = object_name(order)
        return True


def object_name(after: tuple[str, str] | None) -> str:
    """The name of the object that begins behind this document; None is the beginning.

    Named after the cut, an object keeps its name when documents come, go or change. And when cuts
    move, documents only ever go into objects of new names, or out of objects that vanish.
    """
    return f"part-{_hash(after)[:16] if after else '0' * 16}.parquet"


def _hash(order: tuple[str, str]) -> str:
    return hashlib.sha256("\0".join(order).encode()).hexdigest()
