"""`kitelift eval`: which way of cutting lets the user's own questions be answered best.

Everything happens in this process: the documents are cut by each point of the grid, embedded by the
configured model, and searched exactly. Nothing is written but the cache (`evaluation_cache`).
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from chunking.budget import token_counter
from chunking.ids import canonical_json
from chunking.model import Chunk, Document
from chunking.parsers import ParseError, parse_bytes, with_blocks
from chunking.protocols import Chunker, chunk_fully
from chunking.strategies import needs_of
from jobs.chunk_size import ChunkSize, chunk_size
from jobs.chunkers import open_chat_model, open_chunker
from jobs.config import Config, ConfigError
from jobs.conversion.sources import find_inputs
from jobs.evaluation.grid import Point
from jobs.evaluation.kept import KeptEmbedder, Passage, Passages, kept_passages
from jobs.evaluation.questions import Question, left_out, letters_of
from jobs.evaluation.scores import CUTOFFS, Answer, answer, scores, scores_by
from jobs.evaluation.words import WordIndex, best_first, fused
from jobs.plan import is_parquet
from jobs.searching.parents import Child, rank_parents
from jobs.sentences import VectorChunker
from storage.documents import document_hash, read_documents
from storage.embeddings import open_embedder
from storage.errors import BadDocumentError
from storage.objects import open_location
from storage.protocols import Location, SearchMode, Vectors

TOP_CHILDREN = 40
"""Children that a search for parents looks at."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    documents: Sequence[Document]
    questions: Sequence[Question]
    """Those that the documents can answer."""
    vectors: Vectors
    """Of the questions."""

    @property
    def mark(self) -> str:
        told = [[each.document_id, document_hash(each)] for each in self.documents]
        return hashlib.sha256(canonical_json(sorted(told))).hexdigest()


def evaluate(
    config: Config,
    questions: Sequence[Question],
    points: Sequence[Point],
    *,
    folder: str = "",
    mode: SearchMode = "dense",
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Try every point of the grid.

    Args:
        config: The model, the state store for the cache, and the source.
        questions: As `read_questions` gives them.
        points: As `read_grid` gives them.
        folder: Of files to parse; empty takes the parsed documents of the source.
        mode: How to search: by vectors, by words (BM25), or both. Parents are always found by
            the vectors of their children.
        tell: Hears what goes on.

    Returns:
        `documents`, `questions`, `left_out`, `model`, `mode`, and `points`: for each what it was,
        its size and its scores; best first by Recall@5.

    Raises:
        ConfigError: No document, or none that answers any question.
        StorageError: A store or the model does not answer.
    """
    documents = list(_parsed(folder, config, tell) if folder else _source(config, tell))
    if not documents:
        raise ConfigError(f"{folder or config.source.uri}: it holds no document to evaluate on.")
    reasons = left_out(questions, documents)
    asked = [question for question in questions if question.number not in reasons]
    if not asked:
        raise ConfigError(
            f"no question can be answered by these documents; line {questions[0].number}: "
            f"{reasons[questions[0].number]}."
        )
    for point in points:
        open_chat_model(_with(point, config))  # so that none fails after others were paid for
    state = open_location(config.state.uri, config.s3)
    embedder = KeptEmbedder(open_embedder(config.embedding), state)
    embedded = embedder.embed([question.question for question in asked])
    for at, reason in embedded.refused.items():
        raise ConfigError(f"question in line {asked[at].number} cannot be embedded: {reason}.")
    corpus = Corpus(documents=documents, questions=asked, vectors=embedded.vectors)
    tell(f"{len(asked)} questions, {len(documents)} documents, {embedder.name}")
    results = []
    for number, point in enumerate(points, 1):
        results.append(_try(point, corpus, config, embedder, state, mode))
        tell(f"{number} of {len(points)}: {point.name}, Recall@5 {results[-1]['recall']['5']:.3f}")
    return {
        "documents": len(documents),
        "questions": len(asked),
        "left_out": [{"line": line, "reason": reason} for line, reason in reasons.items()],
        "model": embedder.name,
        "mode": mode,
        "embedded_tokens": embedder.tokens,
        "points": sorted(results, key=lambda each: (-each["recall"]["5"], -each["mrr"])),
    }


def _try(
    point: Point,
    corpus: Corpus,
    config: Config,
    embedder: KeptEmbedder,
    state: Location,
    mode: SearchMode,
) -> dict[str, Any]:
    begun = time.monotonic()
    chat_model = open_chat_model(_with(point, config))
    chunker = open_chunker(point.settings, lambda: embedder, chat_model)
    shaping = [corpus.mark, dict(chunker.settings), _models(point, config, embedder)]
    key = hashlib.sha256(canonical_json(shaping)).hexdigest()
    passages = kept_passages(state, key, lambda: _cut(corpus.documents, chunker))
    answers = _ask(corpus, passages, embedder, mode)
    return {
        "name": point.name,
        "strategy": point.strategy,
        "options": dict(point.options),
        **_size(passages, chunker, embedder),
        **scores(answers),
        "by_kind": scores_by(answers, "kind"),
        "by_language": scores_by(answers, "language"),
        "missed": [each.question.number for each in answers if not each.is_found(5)],
        "completion_tokens": chat_model.tally.tokens if chat_model else 0,
        "seconds": round(time.monotonic() - begun, 2),
    }


def _with(point: Point, config: Config) -> Config:
    return config.model_copy(update={"chunking": point.settings})


def _models(point: Point, config: Config, embedder: KeptEmbedder) -> Any:
    """What of the models that its strategy asks shapes the chunks."""
    needs = needs_of(point.strategy)
    if "complete" in needs:
        return config.completion.shaping
    return embedder.name if needs else ""


def _cut(documents: Sequence[Document], chunker: Chunker) -> Passages:
    chunks: list[Passage] = []
    parents: list[Passage] = []
    for document in _in_turn(documents, chunker):
        made = chunk_fully(chunker, document)
        places = {parent.chunk_id: len(parents) + at for at, parent in enumerate(made.parents)}
        parents += [_passage(parent, -1) for parent in made.parents]
        chunks += [_passage(chunk, places.get(chunk.parent_id, -1)) for chunk in made.chunks]
    return Passages(chunks, parents)


def _in_turn(documents: Sequence[Document], chunker: Chunker) -> Iterator[Document]:
    """Each when it can be cut: sentences of many documents are embedded in one call."""
    if not isinstance(chunker, VectorChunker):
        yield from documents
        return
    for batch, sentences in chunker.batches(documents):
        chunker.vectors.fetch(sentences)
        yield from batch


def _passage(chunk: Chunk, parent: int) -> Passage:
    return Passage(chunk.document_id, chunk.content, chunk.token_count, parent)


def _ask(
    corpus: Corpus, passages: Passages, embedder: KeptEmbedder, mode: SearchMode
) -> list[Answer]:
    found = passages.found
    letters = [letters_of(passage.content) for passage in found]
    return [
        answer(question, ranking, found, letters, _count)
        for question, ranking in zip(
            corpus.questions, _rankings(corpus, passages, embedder, mode), strict=True
        )
    ]


def _rankings(
    corpus: Corpus, passages: Passages, embedder: KeptEmbedder, mode: SearchMode
) -> Iterator[list[int]]:
    """For each question the places of what is found, best first, as `kitelift search` finds it."""
    texts = [passage.content for passage in passages.chunks]
    if not texts:
        yield from ([] for _ in corpus.questions)
        return
    cosines = corpus.vectors @ embedder.embed(texts).vectors.T
    if passages.parents:
        yield from (_parents_of(row, passages) for row in cosines)
        return
    words = None if mode == "dense" else WordIndex(texts)
    for question, row in zip(corpus.questions, cosines, strict=True):
        legs = [] if mode == "sparse" else [best_first(row)]
        if words:
            legs.append(words.ranking(question.question))
        yield legs[0] if len(legs) == 1 else fused(leg[: CUTOFFS[-1]] for leg in legs)


def _parents_of(cosines: Vectors, passages: Passages) -> list[int]:
    """Small to big, as `search --mode parent` does it: always by vectors."""
    children = [
        Child(
            chunk_id=str(at),
            parent_id=str(passages.chunks[at].parent),
            score=float(cosines[at]),
        )
        for at in best_first(cosines)[:TOP_CHILDREN]
    ]
    return [int(parent.parent_id) for parent in rank_parents(children, _families(passages))]


def _families(passages: Passages) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for child in passages.chunks:
        counts[str(child.parent)] = counts.get(str(child.parent), 0) + 1
    return counts


def _size(passages: Passages, chunker: Chunker, embedder: KeptEmbedder) -> dict[str, Any]:
    """How many chunks, how full, and how large an index of their vectors and texts would be."""
    rows = [*passages.chunks, *passages.parents]
    tokens = [passage.tokens for passage in passages.chunks]
    text = sum(len(passage.content.encode()) for passage in rows)
    return {
        "chunks": len(passages.chunks),
        "parents": len(passages.parents),
        "index_bytes": text + 4 * embedder.dim * len(rows),
        "mean_tokens": round(fmean(tokens), 1) if tokens else 0.0,
        "fill": round(_fill(passages, chunk_size(chunker.settings)), 4),
    }


def _fill(passages: Passages, size: ChunkSize) -> float:
    """Mean size of a chunk as a part of the most that its strategy lets it have."""
    in_tokens = size.unit == "tokens"
    sizes = [each.tokens if in_tokens else len(each.content) for each in passages.chunks]
    return fmean(sizes) / size.most if sizes else 0.0


def _parsed(folder: str, config: Config, tell: Tell) -> Iterator[Document]:
    """Files as `kitelift convert` reads them, under the ids that it gives."""
    found = find_inputs([folder], config.s3, any_suffix=False)
    for order, reason in found.failed.items():
        tell(f"{order[0]}: {reason}")
    for file in found.inputs.values():
        data, _ = file.root.open(config.s3).get(file.root.key(file.path))
        try:
            document = parse_bytes(data, name=file.source, document_id=file.path)
        except ParseError as error:
            tell(str(error))
        else:
            yield with_blocks(document)


def _source(config: Config, tell: Tell) -> Iterator[Document]:
    """The parsed documents of the configuration; of a document that comes twice, the first."""
    source = open_location(config.source.uri, config.s3)
    seen: set[str] = set()
    for info in source.objects.list(source.prefix):
        if not is_parquet(info.key):
            continue
        for _, document in read_documents(source.objects, info):
            if isinstance(document, BadDocumentError):
                tell(str(document))
            elif document.document_id not in seen:
                seen.add(document.document_id)
                yield with_blocks(document)


@cache
def _count(text: str) -> int:
    return token_counter("cl100k_base").count(text)
