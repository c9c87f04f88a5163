"""The command line. Results go to stdout, progress and errors to stderr.

Exit codes: 0 all well · 1 ended partial · 2 usage or configuration · 3 stopped by a fatal fault ·
4 another run holds the collection.
"""

import click

from jobs.cli import asking, collection, documents, machine, records, running
from jobs.logs import set_up_logging


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="kitelift")
def main() -> None:
    """Lift parsed documents into Milvus: chunked, embedded, and safe to run again.

    \b
    kitelift convert ./manuals --to ./parsed     files into Parquet of parsed documents
    kitelift run                                 chunk, embed and upsert what is due
    kitelift search "如何重启网关" --mode hybrid   what a retriever would get
    """
    set_up_logging()


COMMANDS = (
    documents.convert,
    documents.chunk,
    running.plan,
    running.run,
    running.rerun,
    running.submit,
    records.status,
    records.runs,
    records.report,
    records.dead_letters,
    collection.verify,
    collection.promote,
    collection.rollback,
    collection.gc,
    asking.search,
    asking.evaluate,
    machine.doctor,
    machine.config,
)

for command in COMMANDS:
    main.add_command(command)
