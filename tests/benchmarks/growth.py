"""How the chunker's time grows: CPU seconds for documents of one kind, at one, two and four times.

    python -m tests.benchmarks.growth [--only WORD]

Parsing is not counted. The largest peak of memory stands below the table.
"""

import argparse
import resource
import time
from collections.abc import Callable

from chunking import StructureAwareChunker
from chunking.budget import token_counter
from chunking.parsers import parse_markdown

_SENTENCES = "The server in rack 7 was restarted, and its log says why. "
_CHINESE = "我们在周二检查了三号机房的温度，发现空调停了两个小时。"

DOCUMENTS: dict[str, tuple[int, Callable[[int], str]]] = {
    "one line of {} bytes, sentences": (
        2_500_000,
        lambda n: _SENTENCES * (n // len(_SENTENCES)),
    ),
    "one line of {} Chinese characters": (720_000, lambda n: _CHINESE * (n // len(_CHINESE))),
    "one word of {} letters": (2_500_000, lambda n: "A" * n),
    "{} blanks in one line": (250_000, lambda n: f"x{' ' * n}y"),
    "a table of {} rows": (
        200_000,
        lambda n: "| 型号 | count |\n|---|---|\n" + _numbered(n, "| XQ-{0} | {0} |\n"),
    ),
    "a code block of {} lines": (
        200_000,
        lambda n: "```python\n" + _numbered(n, "x{0} = f({0})\n") + "```\n",
    ),
    "a list of {} items": (200_000, lambda n: _numbered(n, "- item {0} of the list\n")),
    "{} headings with a paragraph each": (
        50_000,
        lambda n: _numbered(n, "## H {0}\n\nA paragraph number {0} of text.\n\n"),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word of the document's name")
    only = parser.parse_args().only
    print("| document | 1 × | 2 × | 4 × |\n|---|---:|---:|---:|")
    for name, (size, write) in DOCUMENTS.items():
        if only in name:
            times = [f"{_seconds(write(size * factor)):.1f}" for factor in (1, 2, 4)]
            print(f"| {name.format(f'{size:,}')} | {' | '.join(times)} |", flush=True)
    print(f"\n{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most")


def _seconds(markdown: str) -> float:
    token_counter.cache_clear()  # what it remembers would make the next one too fast
    document = parse_markdown(markdown, document_id="bench")
    chunker = StructureAwareChunker()
    started = time.process_time()
    chunker.chunk(document)
    return time.process_time() - started


def _numbered(count: int, line: str) -> str:
    return "".join(map(line.format, range(count)))


if __name__ == "__main__":
    main()
