"""Small sections of prose under one parent, joined on request."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from chunking.budget import Room
from chunking.sections import Part, Section

Path = tuple[str, ...]
RoomOf = Callable[[Path], Room]


def join_small(sections: Iterable[Section], min_tokens: int, room_of: RoomOf) -> Iterator[Section]:
    """Join neighbouring sections of prose smaller than `min_tokens` while the sum fits.

    They must share the parent heading and the place (page, sheet, slide, cell range); text right
    under the parent itself counts as its child. The joined section has the parent's path, and each
    own heading stands as a line before its text.
    """
    run: list[Section] = []
    parent: Path = ()
    used = 0
    for section in sections:
        count = room_of(section.heading_path).counter.count
        if section.rule != "prose" or count(_text(section.parts)) >= min_tokens:
            yield from _joined(run, parent)
            run, used = [], 0
            yield section
            continue
        size = count(_text(_under((), section))) + 1  # with the line ends that part it
        shared = _shared_parent(run, parent, section) if run else ()
        if not shared or used + size > room_of(shared).tokens:
            yield from _joined(run, parent)
            run, used, shared = [], 0, ()
        run.append(section)
        parent = shared
        used += size
    yield from _joined(run, parent)


def _shared_parent(run: Sequence[Section], parent: Path, section: Section) -> Path:
    """The heading under which the run and the section can stand together; () for none."""
    if section.place != run[0].place:
        return ()
    path = section.heading_path
    known = (parent,) if parent else (run[0].heading_path[:-1], run[0].heading_path)
    return next((shared for shared in known if shared in (path[:-1], path)), ())


def _joined(run: Sequence[Section], parent: Path) -> Iterator[Section]:
    if len(run) < 2:
        yield from run
    else:
        parts = tuple(part for section in run for part in _under(parent, section))
        yield Section(parent, parts)


def _under(parent: Path, section: Section) -> tuple[Part, ...]:
    """The section's parts as they stand below the parent: its own heading goes before them."""
    if section.heading_path == parent or not section.heading_path:
        return section.parts
    line = section.heading_path[-1] + "\n"
    first, *others = section.parts
    return replace(first, text=line + first.text, offset=first.offset - len(line)), *others


def _text(parts: Sequence[Part]) -> str:
    return "\n\n".join([part.text for part in parts])
