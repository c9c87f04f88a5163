"""Commands that search, and that measure how well a search finds."""

from pathlib import Path

import click

from jobs.cli.frame import as_json, errors_told, print_told, with_config
from jobs.config import ConfigError, load_config
from jobs.progress import open_view


@click.command()
@click.argument("query")
@click.option("--top-k", type=click.IntRange(1, 16384), help="Hits; default: 5, in mode parent 3.")
@click.option(
    "--mode",
    type=click.Choice(["dense", "sparse", "hybrid", "parent"]),
    default="dense",
    show_default=True,
    help="By meaning, by words (BM25), by both; or small to big: parents of what was found.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Only rows with that title, item_name, page, metadata.KEY …; repeat for more.",
)
@click.option("--filter", "filter_expression", default="", help="The same as a Milvus expression.")
@as_json
@with_config
def search(
    query: str,
    top_k: int | None,
    mode: str,
    where: tuple[str, ...],
    filter_expression: str,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Search as a retriever would: dense vectors, BM25, both, or small to big.

    Fields are those of a row. --where takes the value letter for letter; given several times for
    one field it means any of the values, for different fields all of them.

    \b
    kitelift search "how do I restart the gateway" --mode hybrid
    kitelift search "告警代码 A17" --where page=3 --where metadata.lang=zh
    kitelift search "怎样回滚" --mode parent
    kitelift search "rollback" --filter 'page > 3 and array_contains(heading_path, "Upgrade")'
    """
    from jobs.searching.hits import hits_page, parents_page
    from jobs.searching.search import condition_of, reading
    from jobs.searching.search import search as find
    from jobs.searching.small_to_big import TOP_M_PARENT, search_parents

    with errors_told(debug):
        if not query.strip():
            raise ConfigError("the query is blank; say what to look for.")
        condition = condition_of(filter_expression, where)
        config = load_config(config_path)
        with reading(config) as reader:
            if mode == "parent":
                hits = search_parents(
                    reader,
                    query,
                    top_m=top_k or TOP_M_PARENT,
                    condition=condition,
                    reranker=config.rerank,
                )
            else:
                hits = find(reader, query, mode=mode, top_k=top_k or 5, condition=condition)  # type: ignore[arg-type]  # click has checked it
    page = parents_page if mode == "parent" else hits_page
    print_told(hits, as_json, lambda hits: page(hits, query))


@click.command("eval")
@click.option(
    "--questions",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON Lines: question, document_id and excerpt (or one of both), kind, language.",
)
@click.option("--docs", default="", help="Folder of files; default: the parsed documents.")
@click.option(
    "--grid",
    multiple=True,
    metavar="STRATEGY[:OPTION=VALUE/VALUE,…]",
    help="What to try; repeat for more. Default: every strategy, and some sizes.",
)
@click.option(
    "--mode",
    type=click.Choice(["dense", "sparse", "hybrid"]),
    default="dense",
    show_default=True,
    help="How to search.",
)
@click.option(
    "--html",
    "html_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with a chart, too.",
)
@as_json
@with_config
def evaluate(
    questions: Path,
    docs: str,
    grid: tuple[str, ...],
    mode: str,
    html_path: Path | None,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Try ways of chunking on your own documents and questions. Needs no Milvus.

    Vectors and chunks are kept below `eval/` of the state store, so a second call pays nothing.

    \b
    kitelift eval --questions questions.jsonl --docs ./manuals --html eval.html
    kitelift eval --questions q.jsonl --grid structure:max_tokens=256/512,overlap_tokens=0/64
    """
    from jobs.evaluation.evaluate import evaluate as try_all
    from jobs.evaluation.grid import read_grid
    from jobs.evaluation.page import evaluation_page, evaluation_table
    from jobs.evaluation.questions import read_questions

    with errors_told(debug):
        asked = read_questions(questions)
        points, impossible = read_grid(grid)
        with open_view() as view:
            found = try_all(
                load_config(config_path),
                asked,
                points,
                folder=docs,
                mode=mode,  # type: ignore[arg-type]  # click has checked it
                tell=view.tell,
            )
        told = {**found, "impossible": impossible}
        if html_path is not None:
            html_path.write_text(evaluation_page(told), encoding="utf-8")
            click.echo(f"kitelift: written to {html_path}", err=True)
    print_told(told, as_json, evaluation_table)
