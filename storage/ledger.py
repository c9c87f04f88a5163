"""The ledger: durable record of runs, shards and documents, in the object store.

    <prefix><alias>/
        lease.json                              who may write (storage/lease.py)
        promotions.json                         every move of the alias
        attic/<fingerprint>/<run>/…             vectors of deleted rows (jobs/attic.py)
        sentences/<model>/<object>/<run_id>/    vectors to cut by, until gc drops that run
        catalogue/<fingerprint>.json            what the collection holds; swapped by etag
        open/<run_id>                           begun, and not yet part of the catalogue
        runs/<run_id>/run.json                  state and progress
        runs/<run_id>/plan.json                 immutable
        runs/<run_id>/report.json               written once, at the end
        runs/<run_id>/<fingerprint>/<shard>/
            claim-<attempt>.json                before the work
            vectors/<model>/<attempt>-<n>       paid for, kept until the commit
            intents/<attempt>-<n>.json          before the first write to Milvus
            records-<attempt>.parquet           how each document ended
            result.json                         written last: committed

Plans, claims and results are create-only. What cannot be read back (a write cut off by a kill on
a store without atomic writes) counts as absent.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from storage.errors import ConditionFailedError, LedgerDamagedError, ObjectMissingError
from storage.protocols import Location
from storage.records import Catalogue, Part, Promotion, RunPlan, RunRecord, ShardResult

T = TypeVar("T")
_CATALOGUE = TypeAdapter(Catalogue)
_PLAN = TypeAdapter(RunPlan)
_RUN = TypeAdapter(RunRecord)
_RESULT = TypeAdapter(ShardResult)
_PROMOTIONS = TypeAdapter(list[Promotion])
_REPORT = TypeAdapter(dict[str, Any])


class Ledger:
    """The records of one alias' runs below one location."""

    def __init__(self, location: Location, alias: str) -> None:
        self.objects = location.objects
        self._alias = alias
        self._root = f"{location.prefix}{alias}/"

    @property
    def lease_key(self) -> str:
        return f"{self._root}lease.json"

    def run_folder(self, run_id: str) -> str:
        return f"{self._root}runs/{run_id}"

    def shard_folder(self, plan: RunPlan, number: int) -> str:
        return f"{self.run_folder(plan.run_id)}/{plan.fingerprint}/{number:06d}"

    def attic(self, fingerprint: str) -> str:
        """Where vectors of deleted rows wait for a text that comes back."""
        return f"{self._root}attic/{fingerprint}"

    # Runs

    def begin(self, record: RunRecord) -> None:
        """Mark the run as open before it touches anything."""
        self.objects.put(f"{self._root}open/{record.run_id}", b"")
        self.write_run(record)

    def write_run(self, record: RunRecord) -> None:
        self.objects.put(f"{self.run_folder(record.run_id)}/run.json", _RUN.dump_json(record))

    def run(self, run_id: str) -> RunRecord | None:
        return self._read(f"{self.run_folder(run_id)}/run.json", _RUN)

    def runs(self) -> list[RunRecord]:
        """All of them, oldest first."""
        prefix = f"{self._root}runs/"
        records = [
            self._read(info.key, _RUN)
            for info in self.objects.list(prefix)
            if info.key.endswith("/run.json") and info.key.count("/", len(prefix)) == 1
        ]
        return sorted((r for r in records if r), key=lambda r: (r.started_at, r.run_id))

    def open_runs(self) -> list[str]:
        """Runs that began and whose outcome no catalogue tells yet, oldest first."""
        prefix = f"{self._root}open/"
        names = [info.key.removeprefix(prefix) for info in self.objects.list(prefix)]
        started = {name: run.started_at for name in names if (run := self.run(name))}
        return sorted(names, key=lambda name: (started.get(name, ""), name))

    def close_run(self, run_id: str) -> None:
        """The catalogue tells the run's outcome now."""
        self.objects.delete(f"{self._root}open/{run_id}")

    # Plans and shards

    def write_plan(self, plan: RunPlan) -> None:
        key = f"{self.run_folder(plan.run_id)}/plan.json"
        self.objects.put(key, _PLAN.dump_json(plan), if_absent=True)

    def plan(self, run_id: str) -> RunPlan | None:
        return self._read(f"{self.run_folder(run_id)}/plan.json", _PLAN)

    def claim(self, folder: str, attempt: int, epoch: int) -> None:
        """Say that the work on a shard begins; who dies at it has left a trace."""
        body = f'{{"attempt": {attempt}, "epoch": {epoch}}}'
        self.objects.put(f"{folder}/claim-{attempt:03d}.json", body.encode())

    def commit(self, folder: str, result: ShardResult) -> ShardResult:
        """Write a shard's result; the first one counts, and is returned."""
        key = f"{folder}/result.json"
        try:
            self.objects.put(key, _RESULT.dump_json(result), if_absent=True)
        except ConditionFailedError:
            return self._read(key, _RESULT) or result
        return result

    def results(self, run_id: str) -> Iterator[ShardResult]:
        """Of all committed shards, by number."""
        plan = self.plan(run_id)
        if plan is None:
            return
        prefix = f"{self.run_folder(run_id)}/{plan.fingerprint}/"
        for info in self.objects.list(prefix):
            if info.key.endswith("/result.json"):
                result = self._read(info.key, _RESULT)
                if result is not None:
                    yield result

    def result_of(self, part: Part) -> ShardResult | None:
        """The result of the shard that wrote this part."""
        return self._read(f"{part.key.rpartition('/')[0]}/result.json", _RESULT)

    def attempts(self, plan: RunPlan) -> dict[int, int]:
        """The highest attempt at each shard that somebody began, by its number."""
        prefix = f"{self.run_folder(plan.run_id)}/{plan.fingerprint}/"
        highest: dict[int, int] = {}
        for info in self.objects.list(prefix):
            number, _, name = info.key.removeprefix(prefix).partition("/")
            if name.startswith("claim-"):
                attempt = int(name.removeprefix("claim-").removesuffix(".json"))
                highest[int(number)] = max(attempt, highest.get(int(number), 0))
        return highest

    # The catalogue

    def catalogue(self, fingerprint: str) -> tuple[Catalogue, str]:
        """What the collection of this fingerprint holds, and the etag to swap it by.

        Empty, with an empty etag, when no run has ended yet.

        Raises:
            LedgerDamagedError: It is there, and cannot be read.
        """
        try:
            return self._read_or_raise(
                self._catalogue_key(fingerprint),
                _CATALOGUE,
                "Put an earlier version back, or delete it: the next run looks at everything "
                "again, and pays for nothing that is in the collection.",
            )
        except ObjectMissingError:
            return Catalogue(fingerprint=fingerprint), ""

    def write_catalogue(self, catalogue: Catalogue, etag: str) -> None:
        """Swap it. Raises ConditionFailedError when another run was faster."""
        key, data = self._catalogue_key(catalogue.fingerprint), _CATALOGUE.dump_json(catalogue)
        if etag:
            self.objects.put(key, data, if_etag=etag)
        else:
            self.objects.put(key, data, if_absent=True)

    # Sentences

    def sentences_root(self, model: str) -> str:
        """Below it stand the vectors of sentences of one model (storage/sentence_vectors.py)."""
        return f"{self._root}sentences/{model}/"

    def sentence_keys(self) -> Iterator[tuple[str, str]]:
        """Of every file of sentence vectors, the run that kept it and its key."""
        for info in self.objects.list(f"{self._root}sentences/"):
            yield info.key.split("/")[-2], info.key

    # What gc looks at

    def keys_of_run(self, run_id: str) -> Iterator[str]:
        return (info.key for info in self.objects.list(f"{self.run_folder(run_id)}/"))

    def fingerprint_of(self, collection: str) -> str:
        return collection.removeprefix(f"{self._alias}_")

    def owns(self, collection: str) -> bool:
        """Whether some run of this ledger wrote that collection: another alias' may look alike.

        The records of its runs may be dropped by now; its catalogue is dropped with it only.
        """
        catalogue = self._catalogue_key(self.fingerprint_of(collection))
        told = any(info.key == catalogue for info in self.objects.list(catalogue))
        return told or any(record.collection == collection for record in self.runs())

    def forget_collection(self, collection: str) -> None:
        """Its catalogue goes with it, or a later run would believe it."""
        fingerprint = self.fingerprint_of(collection)
        self.objects.delete(self._catalogue_key(fingerprint))
        for info in list(self.objects.list(f"{self.attic(fingerprint)}/")):
            self.objects.delete(info.key)

    # The alias

    def promotions(self) -> list[Promotion]:
        """Every move of the alias, oldest first.

        Raises:
            LedgerDamagedError: They are there, and cannot be read: `gc` would drop what `rollback`
                goes back to.
        """
        try:
            return self._read_or_raise(
                self._promotions_key,
                _PROMOTIONS,
                "Put an earlier version back, or delete it: `promote COLLECTION` does then what "
                "`rollback` did, and `gc` keeps only the collection behind the alias.",
            )[0]
        except ObjectMissingError:
            return []

    def add_promotion(self, promotion: Promotion) -> None:
        moves = [*self.promotions(), promotion]
        self.objects.put(self._promotions_key, _PROMOTIONS.dump_json(moves))

    @property
    def _promotions_key(self) -> str:
        return f"{self._root}promotions.json"

    # Reports

    def write_report(self, run_id: str, report: dict[str, Any]) -> None:
        self.objects.put(f"{self.run_folder(run_id)}/report.json", _REPORT.dump_json(report))

    def report(self, run_id: str) -> dict[str, Any] | None:
        return self._read(f"{self.run_folder(run_id)}/report.json", _REPORT)

    def report_before(self, record: RunRecord) -> dict[str, Any] | None:
        """Of the newest run that began before this one and has a report."""
        for earlier in reversed(self.runs()):
            if (earlier.started_at, earlier.run_id) < (record.started_at, record.run_id):
                report = self.report(earlier.run_id)
                if report is not None:
                    return report
        return None

    def _catalogue_key(self, fingerprint: str) -> str:
        return f"{self._root}catalogue/{fingerprint}.json"

    def _read(self, key: str, adapter: TypeAdapter[T]) -> T | None:
        try:
            return adapter.validate_json(self.objects.get(key)[0])
        except (ObjectMissingError, ValidationError):
            return None

    def _read_or_raise(self, key: str, adapter: TypeAdapter[T], advice: str) -> tuple[T, str]:
        """Read an object, and its etag, whose loss no other object makes good."""
        data, etag = self.objects.get(key)
        try:
            return adapter.validate_json(data), etag
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            raise LedgerDamagedError(self.objects.place, key, reason, advice) from None
