"""Results as a person reads them on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from jobs.progress import clock_time
from jobs.report import Report
from storage.records import RunRecord

DEAD_LETTERS_SHOWN = 20
COLOURS = {"succeeded": "green", "partial": "yellow"}


def show(renderable: RenderableType) -> None:
    """Print to stdout; at full width where it is no terminal, so that nothing is cut."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(renderable)


def report_page(report: Report) -> RenderableType:
    """Outcome first, then documents, chunks, embedding, times, and what could not go in."""
    parts: list[RenderableType] = [_headline(report), _figures(report)]
    if report["stage_seconds"]:
        stages = sorted(report["stage_seconds"].items(), key=lambda item: -item[1])
        told = " · ".join(f"{name} {seconds:.1f} s" for name, seconds in stages)
        parts.append(Text(f"Time by stage, over all workers: {told}"))
    if report["warnings"]:
        told = " · ".join(f"{kind}: {count}" for kind, count in report["warnings"].items())
        parts.append(Text(f"Left out or mended: {told}"))
    if report["duplicates"]["dropped"]:
        parts.append(
            Text(
                f"Rows of a document that was taken from another row: "
                f"{report['duplicates']['dropped']} ({report['duplicates']['equal']} equal to it)"
            )
        )
    if golden := report.get("golden"):  # reports of earlier versions have none
        parts.append(_golden(golden))
    if report["dead_letters"]:
        parts.append(_dead_letters(report))
    return Group(*parts)


def _headline(report: Report) -> Text:
    text = Text("Run ")
    text.append(report["run_id"], "bold")
    text.append(" ")
    text.append(report["outcome"], f"bold {COLOURS.get(report['outcome'], 'red')}")
    text.append(f" in {clock_time(report['seconds'])}")
    if report["collection"]:
        text.append(f" · alias {report['alias']}, collection {report['collection']}")
    if report["reason"]:
        text.append(f"\n{report['reason']}")
    return text


def _figures(report: Report) -> Table:
    documents, chunks = report["documents"], report["chunks"]
    embedding, shards = report["embedding"], report["shards"]
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    fates = ("stored", "unchanged", "empty", "dead", "deleted")
    told = " · ".join(f"{documents[fate]} {fate}" for fate in fates)
    table.add_row("documents", f"{documents['read']} read: {told}")
    table.add_row(
        "chunks",
        f"{chunks['total']} in all · {chunks['upserted']} upserted · {chunks['deleted']} deleted",
    )
    cost = f" · cost {embedding['cost']:.4f}" if embedding["cost"] else ""
    table.add_row(
        "embedding",
        f"{embedding['texts']} texts embedded · {embedding['tokens']} tokens · "
        f"{embedding['reused']} reused{cost}",
    )
    if embedding["sentences"] or embedding["sentences_reused"]:
        table.add_row(
            "sentences",
            f"{embedding['sentences']} embedded to cut by · {embedding['sentence_tokens']} tokens "
            f"beside those of the chunks · {embedding['sentences_reused']} reused",
        )
    if any(report["completion"].values()):
        table.add_row("chat model", completion_told(report["completion"]))
    table.add_row(
        "shards",
        f"{shards['total']} due: {shards['committed']} committed · {shards['failed']} failed"
        f" · {shards['skipped']} objects skipped as unchanged",
    )
    return table


def _golden(golden: dict[str, Any]) -> Text:
    told = "readers see the new one" if golden["switched"] else "the alias stays"
    head = f"Golden queries, {golden['served']} beside {golden['built']}: {told}"
    if golden["overlap"] is None:
        return Text(f"{head}\n  not compared: {golden['reason'] or 'the model takes none of them'}")
    lowest = ", ".join(f"line {q['line']} {q['overlap']:.2f}" for q in golden["lowest"][:5])
    left_out = f" · {len(golden['left_out'])} not taken by the model" if golden["left_out"] else ""
    return Text(
        f"{head}\n  overlap@{golden['top_k']} {golden['overlap']:.3f} by document, "
        f"{golden['mode']} · {golden['queries']} queries{left_out} · {golden['tokens']} tokens\n"
        f"  lowest: {lowest}"
    )


def completion_told(completion: dict[str, Any]) -> str:
    cost = f" · cost {completion['cost']:.4f}" if completion["cost"] else ""
    return (
        f"{completion['requests']} requests · {completion['tokens']} tokens · "
        f"{completion['reused']} answers reused · "
        f"{completion['fall_backs']} sections cut by structure instead{cost}"
    )


def _dead_letters(report: Report) -> Table:
    letters = report["dead_letters"]
    shown = letters[:DEAD_LETTERS_SHOWN]
    title = f"Could not go in: {report['dead_letters_total']}"
    if len(shown) < report["dead_letters_total"]:
        title += f" (the first {len(shown)}; --json has more)"
    table = Table(title=title, title_justify="left", expand=False)
    for column in ("document", "object", "stage", "reason"):
        table.add_column(column, overflow="fold")
    for letter in shown:
        document = letter["document_id"] or "(the object)"
        cells = (document, letter["object_key"], letter["stage"], letter["reason"])
        table.add_row(*map(escape, cells))
    return table


def runs_page(records: Sequence[RunRecord]) -> RenderableType:
    if not records:
        return Text("No run yet.")
    table = Table(box=None, pad_edge=False)
    for column in ("run", "state", "started", "shards", "documents", "collection", "reason"):
        table.add_column(column, overflow="fold")
    for record in records:
        table.add_row(
            record.run_id,
            record.state,
            record.started_at,
            f"{record.shards_done}/{record.shards_total}",
            str(record.progress.fates.read),
            record.collection,
            escape(record.reason),
        )
    return table


def status_page(record: RunRecord, holder: str) -> RenderableType:
    work = record.progress
    lines = [
        f"Run {record.run_id}: {record.state}",
        f"  command     {record.command}",
        f"  started     {record.started_at}, last sign of life {record.updated_at}",
        f"  collection  {record.collection} (alias {record.alias})",
        f"  shards      {record.shards_done} of {record.shards_total}",
        (
            f"  documents   {work.fates.read} so far: {work.fates.stored} stored, "
            f"{work.fates.unchanged} unchanged, {work.fates.dead} dead"
        ),
        f"  chunks      {work.chunks}, {work.upserted} upserted, {work.deleted} deleted",
        f"  embedding   {work.texts} texts, {work.embedded_tokens} tokens",
        f"  lease       {holder}",
    ]
    if work.completion_requests or work.completions_reused:
        lines.append(
            f"  chat model  {work.completion_requests} requests, {work.completion_tokens} tokens, "
            f"{work.completions_reused} answers reused"
        )
    if record.reason:
        lines.append(f"  reason      {record.reason}")
    return Text("\n".join(lines))


def convert_page(report: dict[str, Any]) -> RenderableType:
    """What was read, what the target holds now, and what could not be read and why."""
    files, documents, objects = (
        report["files"],
        report["document_changes"],
        report["object_changes"],
    )
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    table.add_row(
        "files",
        f"{files['read']} read, {files['unchanged']} of them unchanged · "
        f"{files['skipped']} skipped · {files['failed']} failed",
    )
    table.add_row(
        "documents",
        f"{report['documents']} in all · {documents['added']} added · "
        f"{documents['changed']} changed · {documents['removed']} removed",
    )
    table.add_row(
        "objects",
        f"{report['objects']} in all · {objects['written']} written · "
        f"{objects['kept']} kept · {objects['deleted']} deleted",
    )
    verb = "A conversion would leave" if report["dry_run"] else "Converted"
    head = Text.assemble(f"{verb} into ", (report["target"], "bold"))
    head.append(f" in {report['seconds']:.1f} s")
    parts: list[RenderableType] = [head, table]
    for told, counts in (("Skipped", report["skips"]), ("Left out or mended", report["warnings"])):
        if counts:
            parts.append(Text(f"{told}: " + " · ".join(f"{k}: {n}" for k, n in counts.items())))
    if failures := report["failures"]:
        shown = failures[:DEAD_LETTERS_SHOWN]
        title = f"Could not be read: {len(failures)}"
        if len(shown) < len(failures):
            title += f" (the first {len(shown)}; --json has all)"
        failed = Table(title=title, title_justify="left", expand=False)
        for column in ("file", "reason"):
            failed.add_column(column, overflow="fold")
        for failure in shown:
            failed.add_row(escape(failure["file"]), escape(failure["reason"]))
        parts.append(failed)
    return Group(*parts)


def estimate_page(estimate: dict[str, Any]) -> RenderableType:
    documents, chunks, embedding = (
        estimate["documents"],
        estimate["chunks"],
        estimate["embedding"],
    )
    told = ("new", "changed", "unchanged", "empty", "dead", "vanished")
    lines = [
        f"A run would write into {estimate['collection']}"
        + (", which it would build." if estimate["builds_collection"] else "."),
        "  documents  " + " · ".join(f"{documents[name]} {name}" for name in told),
        (
            f"  chunks     {chunks['total']} in all · {chunks['to_upsert']} to upsert · "
            f"{chunks['to_delete']} to delete"
        ),
        f"  to embed   {embedding['texts']} texts · {embedding['tokens']} tokens"
        + (f" · cost {embedding['cost']:.4f}" if embedding["cost"] else ""),
        *_to_cut_by(embedding),
        *_to_ask(estimate["completion"]),
        (
            f"  shards     {estimate['shards']} due · {estimate['objects']['skipped']} objects "
            "skipped as unchanged"
        ),
    ]
    if estimate["seconds"] is not None:
        lines.append(f"  time       about {clock_time(estimate['seconds'])}, as the last run went")
    lines += [
        f"  unreadable {fault['object_key']}: {fault['reason']}"
        for fault in estimate["objects"]["unreadable"]
    ]
    return Text("\n".join(lines))


def _to_cut_by(embedding: dict[str, Any]) -> list[str]:
    if not embedding["sentences"]:
        return []
    told = f"{embedding['sentences']} sentences · {embedding['sentence_tokens']} tokens"
    return [f"  to cut by  {told}; until then their chunks are a guess"]


def _to_ask(completion: dict[str, int]) -> list[str]:
    if not any(completion.values()):
        return []
    guessed = "; until then their chunks are a guess" if completion["requests"] else ""
    told = (
        f"{completion['requests']} requests to the chat model · "
        f"{completion['prompt_tokens']} tokens of prompts · {completion['reused']} answers kept"
    )
    return [f"  to ask     {told}{guessed}"]


def audit_page(told: dict[str, Any]) -> RenderableType:
    after = told.get("repaired", told)
    lines = [f"Collection {told['collection']}: {told['rows']} rows, {told['expected']} on record"]
    for kind in ("missing", "altered", "stale", "orphaned", "foreign"):
        found = told[kind]
        first = ", ".join(f"{f['chunk_id']} of {f['document_id']!r}" for f in found["first"][:3])
        lines.append(f"  {kind:<9} {found['count']}" + (f": {first} …" if first else ""))
    if told["unsettled"]:
        lines.append(f"  unsettled {len(told['unsettled'])} objects: the next run mends them")
    if told["waiting"]:
        lines.append(f"  waiting   {len(told['waiting'])} objects changed since the last run")
    if after is not told:
        lines.append(f"After the repair: {after['rows']} rows, {after['expected']} on record")
    lines.append("Clean." if told["clean"] else "Not clean: `kitelift verify --repair` mends it.")
    return Text("\n".join(lines))


def promotion_page(told: dict[str, Any]) -> RenderableType:
    if told["before"] == told["collection"]:
        return Text(f"Alias {told['alias']} points to {told['collection']} already.")
    before = f" (before: {told['before']})" if told["before"] else ""
    return Text(f"Alias {told['alias']} points to {told['collection']} now{before}.")


def letters_page(letters: list[dict[str, Any]]) -> RenderableType:
    if not letters:
        return Text("No dead letter stands.")
    table = Table(box=None, pad_edge=False)
    for column in ("document", "object", "row", "stage", "attempts", "reason"):
        table.add_column(column, overflow="fold")
    for letter in letters:
        table.add_row(
            escape(letter["document_id"] or "(the object)"),
            escape(letter["object_key"]),
            str(letter["row"]) if letter["row"] >= 0 else "",
            letter["stage"],
            str(letter["attempts"]),
            escape(letter["reason"]),
        )
    return table


def garbage_page(told: dict[str, Any]) -> RenderableType:
    verb = "Dropped" if told["dropped"] else "Would drop"
    return Text(
        f"{verb} {len(told['keys'])} ledger objects of old runs ({len(told['runs'])} runs whole), "
        f"{len(told['collections'])} collections"
        + (f": {', '.join(told['collections'])}" if told["collections"] else "")
    )
