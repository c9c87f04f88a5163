"""A small world for runs: a source folder, a ledger, a real Milvus, a real embedding server."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w
from click.testing import CliRunner

from chunking.model import Document
from jobs.cli import main
from jobs.config import Config, load_config
from jobs.plan import Scope
from jobs.progress import Silence
from jobs.run import RunOptions, run_job
from storage.document_writer import write_documents
from storage.ledger import Ledger
from storage.local_objects import LocalObjectStore
from storage.objects import open_location
from storage.protocols import RowKey
from storage.vectors import connect
from tests.servers.embeddings import OpenAIServer

PROJECT = Path(__file__).parents[2]


@dataclass(kw_only=True)
class World:
    folder: Path
    milvus_uri: str
    alias: str
    server: OpenAIServer
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Changes to the configuration, by section."""

    def __post_init__(self) -> None:
        self.source = LocalObjectStore(self.folder / "parsed")

    @property
    def config(self) -> Config:
        return load_config(self.config_file())

    def config_file(self) -> Path:
        values: dict[str, dict[str, Any]] = {
            "source": {"uri": str(self.folder / "parsed")},
            "state": {"uri": str(self.folder / "state")},
            "embedding": {
                "provider": "openai",
                "model": "hash-32",
                "base_url": self.server.base_url,
                "first_wait_seconds": 0.01,
                "max_attempts": 3,
            },
            "milvus": {"uri": self.milvus_uri, "collection": self.alias},
            "run": {"executor": "inline"},
        }
        for section, changes in self.settings.items():
            values.setdefault(section, {}).update(changes)
        path = self.folder / "kitelift.toml"
        fresh = self.folder / f"{threading.get_ident()}.toml"
        fresh.write_text(tomli_w.dumps(values), encoding="utf-8")
        return fresh.replace(path)  # never half written where another thread reads it

    # The source

    def put(self, key: str, documents: Mapping[str, str] | Iterable[Document]) -> None:
        """Write one object: Markdown by document id, or whole documents."""
        if isinstance(documents, Mapping):
            documents = [markdown(i, text) for i, text in documents.items()]
        write_documents(self.source, key, documents)

    # Runs

    def run(self, **options: Any) -> dict[str, Any]:
        """One run in this process; its report."""
        scope = Scope(**{k: options.pop(k) for k in ("prefix", "full", "only") if k in options})
        sign = options.pop("sign", None)
        return run_job(self.config, RunOptions(scope=scope, **options), Silence(), sign)

    def command(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """`kitelift WORDS -c …` as a person types it."""
        return subprocess.run(
            self.command_line(*words),
            cwd=self.folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def typed(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """The same in this process, without the seconds of a new interpreter."""
        line = self.words(*words)
        told = CliRunner().invoke(main, line, prog_name="kitelift", env=environment)
        return subprocess.CompletedProcess(line, told.exit_code, told.stdout, told.stderr)

    def command_line(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "jobs", *self.words(*words)]

    def words(self, *words: str) -> list[str]:
        """What stands behind `--` is the command that is submitted."""
        place = words.index("--") if "--" in words else len(words)
        return [*words[:place], "-c", str(self.config_file()), *words[place:]]

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
        return {**os.environ, "PYTHONPATH": path, **more}

    # What came of it

    @contextmanager
    def store(self):
        database = connect(self.config.milvus)
        try:
            target = database.alias_target(self.alias)
            yield database.open(target) if target else None
        finally:
            database.close()

    def rows(self) -> list[RowKey]:
        """Every row behind the alias, sorted by id, doubles and all."""
        with self.store() as store:
            return sorted(store.scan(), key=lambda row: row.chunk_id) if store else []

    def documents(self) -> dict[str, int]:
        """Rows by document."""
        counts: dict[str, int] = {}
        for row in self.rows():
            counts[row.document_id] = counts.get(row.document_id, 0) + 1
        return counts

    @property
    def ledger(self) -> Ledger:
        config = self.config
        return Ledger(open_location(config.state.uri, config.s3), self.alias)


def markdown(document_id: str, text: str, **fields: Any) -> Document:
    return Document(document_id=document_id, file_title=document_id, markdown=text, **fields)


def manual(name: str, sections: int = 3, sentences: int = 6) -> str:
    """Markdown in both languages whose sections are all different."""
    parts = [f"# {name}"]
    for number in range(sections):
        parts.append(f"## Section {number} 第{number}节")
        parts.append(
            " ".join(
                f"Sentence {place} of section {number} in {name} says something of its own."
                f"{name}第{number}节第{place}句另有所指。"
                for place in range(sentences)
            )
        )
    return "\n\n".join(parts) + "\n"


def counts(**given: int) -> dict[str, int]:
    """The counts of documents by fate in a report; those not given are 0."""
    fates = ("read", "stored", "unchanged", "empty", "dead", "deleted")
    return {fate: given.get(fate, 0) for fate in fates}
