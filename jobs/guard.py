"""What a run may not do without being told to: wipe the collection, spend more than it may."""

from jobs.config import Config
from jobs.costs import completion_cost, embedding_cost
from storage.errors import SettingError, StorageError
from storage.records import RunPlan, Tally

ALL_THE_SAME = "--allow-delete goes on all the same."


class GuardError(StorageError):
    """The run would delete more than it may, or there is nothing to do it with."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason, advice)
        self.reason, self.advice = reason, advice

    def __str__(self) -> str:
        return f"{self.reason} Nothing was changed; {self.advice}"


def refuse_mass_deletion(plan: RunPlan, config: Config, *, whole: bool) -> None:
    """Look at a plan before anything is written.

    Args:
        plan: Of the run.
        config: Its limits.
        whole: Whether it looks at all of the source: only then is an empty listing suspect.

    Raises:
        GuardError: The source is empty, or too many documents have vanished from it.
    """
    if not plan.objects and whole:
        here = f"The source {config.source.uri} lists no Parquet object"
        if not plan.known_documents:
            raise GuardError(f"{here}.", f"`kitelift convert PATH --to {config.source.uri}`?")
        raise GuardError(
            f"{here}; {plan.known_documents} documents are in the collection.", ALL_THE_SAME
        )
    allowed = config.limits.max_delete_ratio
    if plan.vanished > allowed * plan.known_documents:
        raise GuardError(
            f"{plan.vanished} of {plan.known_documents} documents have vanished from the "
            f"source, more than limits.max_delete_ratio = {allowed:g} allows.",
            ALL_THE_SAME,
        )


def refuse_other_settings(earlier: RunPlan | None, fingerprint: str) -> None:
    """A run that goes on with another one's plan, or takes up what it left, writes where it wrote.

    Raises:
        SettingError: The settings are others, and so is the collection.
    """
    if earlier is not None and earlier.fingerprint != fingerprint:
        raise SettingError(
            f"run {earlier.run_id}",
            "it was made with other settings, whose collection this run would not touch",
            "Set them again, or bring all of the source into the new one: `kitelift run`.",
        )


def cap_reached(config: Config, *, work: Tally, seconds: float) -> str:
    """Which limit of the configuration ends a run before its next shard, as a sentence, if any.

    Args:
        config: Its limits.
        work: Of this run so far.
        seconds: Since it began.
    """
    limits = config.limits
    cost = embedding_cost(work, config) + completion_cost(work, config)
    caps = (
        ("max_tokens", limits.max_tokens, work.embedded_tokens),
        ("max_cost", limits.max_cost, cost),
        ("deadline_seconds", limits.deadline_seconds, seconds),
    )
    for name, cap, spent in caps:
        if cap and spent >= cap:
            return f"limits.{name} = {cap:g} is reached; what was committed stays, run again"
    return ""
