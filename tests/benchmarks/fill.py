"""How full our chunks are, by kind: what joining small neighbours can do on given Markdown files.

    python -m tests.benchmarks.fill [FOLDER]

`min_tokens` = 512 joins all that may be joined at all, so no setting can fill prose further.
"""

import argparse
from collections import defaultdict

from chunking import StructureAwareChunker
from chunking.parsers import parse_markdown
from tests.benchmarks.chunking import add_folder, read_markdown
from tests.benchmarks.chunking_contenders import MAX_TOKENS, OVERLAP

SETTINGS = (0, 128, MAX_TOKENS)
PROSE = frozenset({"paragraph", "list", "formula"})
COLUMNS = ("all", "prose", "code", "table", "image")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_folder(parser)
    texts = read_markdown(parser.parse_args().folder)
    documents = [parse_markdown(text, document_id="bench") for text in texts]
    print(f"| min_tokens | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    for min_tokens in SETTINGS:
        chunker = StructureAwareChunker(MAX_TOKENS, OVERLAP, min_tokens=min_tokens)
        sizes: dict[str, list[int]] = defaultdict(list)
        for document in documents:
            for chunk in chunker.chunk(document):
                sizes["all"].append(chunk.token_count)
                sizes["prose" if chunk.kind in PROSE else chunk.kind].append(chunk.token_count)
        print(f"| {min_tokens} | {' | '.join(_told(sizes[column]) for column in COLUMNS)} |")


def _told(sizes: list[int]) -> str:
    return f"{sum(sizes) / len(sizes) / MAX_TOKENS:.2f} ({len(sizes):,})" if sizes else "–"


if __name__ == "__main__":
    main()
