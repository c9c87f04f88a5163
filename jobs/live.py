"""A watched run as it is shown: in place on a terminal, else a line for each look."""

import json
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from jobs.progress import clock_time
from jobs.render import COLOURS
from jobs.watch import SILENT_SECONDS, Outlook


def show_live(outlooks: Iterable[Outlook], *, as_json: bool = False) -> Outlook:
    """Show each as it comes: in place on a terminal, else a line (or a JSON object) each.

    Returns:
        The last one; there is one at least.
    """
    console = Console()
    live = Live(console=console, auto_refresh=False, transient=False)
    with live if console.is_terminal and not as_json else nullcontext():
        for outlook in outlooks:
            if as_json:
                told = {**asdict(outlook), "seconds_left": outlook.seconds_left}
                print(json.dumps(told, ensure_ascii=False), flush=True)  # noqa: T201 - the result
            elif console.is_terminal:
                live.update(outlook_page(outlook), refresh=True)
            else:
                print(outlook_line(outlook), flush=True)  # noqa: T201 - the result
    return outlook


def outlook_page(outlook: Outlook) -> RenderableType:
    record = outlook.record
    head = Text.assemble(
        "Run ", (record.run_id, "bold"), " ", (record.state, COLOURS.get(record.state, "cyan"))
    )
    lines: list[RenderableType] = [head]
    if outlook.documents_due:
        done = min(outlook.documents_done, outlook.documents_due)
        lines.append(ProgressBar(total=outlook.documents_due, completed=done, width=60))
    lines.append(Text(outlook_line(outlook)))
    if outlook.stage_shares:
        shares = " · ".join(f"{stage} {share:.0%}" for stage, share in outlook.stage_shares)
        lines.append(Text(f"workers' time: {shares}"))
    if record.reason:
        lines.append(Text(record.reason, "yellow"))
    return Group(*lines)


def outlook_line(outlook: Outlook) -> str:
    record = outlook.record
    line = (
        f"{record.state}: {outlook.documents_done}/{outlook.documents_due} documents "
        f"({outlook.documents_per_second:.1f}/s), "
        f"{record.shards_done}/{record.shards_total} shards, "
        f"{record.progress.chunks} chunks ({outlook.chunks_per_second:.1f}/s), "
        f"{record.progress.embedded_tokens} tokens ({outlook.tokens_per_second:.0f}/s), "
        f"{record.progress.fates.dead} dead"
    )
    if outlook.is_over:
        return line
    if outlook.stage_shares:
        stage, share = outlook.stage_shares[0]
        line += f", {share:.0%} of the time in {stage}"
    if outlook.silent_seconds > SILENT_SECONDS:
        return f"{line}, silent for {clock_time(outlook.silent_seconds)}"
    return f"{line}, {clock_time(outlook.seconds_left)} left"
