"""What is handed to a Ray cluster, and under which name: the part of `submit` without Ray."""

import hashlib
import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jobs.config import Config, ConfigError

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
UNITS |= {"w": 7 * UNITS["d"]}
SUBMITTED = (
    "run",
    "rerun",
    "dead-letters",
    "verify",
    "gc",
    "plan",
    "doctor",
    "promote",
    "rollback",
)
"""Commands that make sense on a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A command of ours as a Ray job."""

    submission_id: str
    """Equal for two firings of one tick, so that the second finds the first."""
    entrypoint: str
    """As a shell reads it."""
    tick: str
    """Empty for a submission that stands for itself."""


def make_submission(
    words: Sequence[str], config: Config, *, tick: str, now: datetime
) -> Submission:
    """Name a command.

    Args:
        words: `run --prefix 2025/`, without the program and the configuration.
        config: What it will be run with; another one makes another submission.
        tick: Which firing of a schedule this is; empty for none.
        now: Names a submission without a tick, together with some random digits.

    Raises:
        ConfigError: The command is none for a cluster, or a folder would be looked for there.
    """
    if not words or words[0] not in SUBMITTED:
        told = shlex.join(words) or "nothing"
        raise ConfigError(
            f"cannot submit {told!r}; write `kitelift submit -- run …` (or {', '.join(SUBMITTED)})."
        )
    if {"-c", "--config"} & {word.partition("=")[0] for word in words}:
        raise ConfigError(
            "give -c to submit itself, before the `--`: the file is sent along with the job."
        )
    _refuse_relative_folders(config)
    command = "\0".join([*words, config.model_dump_json(by_alias=True)])
    digest = hashlib.sha256(command.encode()).hexdigest()[:10]
    place = re.sub(r"[^0-9A-Za-z]+", "", tick) if tick else _unique(now)
    return Submission(
        submission_id=f"kitelift-{words[0]}-{digest}-{place}",
        entrypoint=shlex.join(["python", "-m", "jobs", *words]),
        tick=tick,
    )


def tick_of(every: str, now: datetime) -> str:
    """The last tick of a schedule that fires every so often, counted from 1970 in UTC.

    Args:
        every: `15m`, `6h`, `1d`, `1w`.
        now: With a time zone.

    Raises:
        ConfigError: `every` is no such length.
    """
    found = re.fullmatch(r"([1-9]\d*)([mhdw])", every)
    if found is None:
        raise ConfigError(f"--every {every!r} is no length of time; write 15m, 6h, 1d or 1w.")
    length = int(found[1]) * UNITS[found[2]]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return (epoch + (now - epoch) // length * length).isoformat(timespec="minutes")


def _refuse_relative_folders(config: Config) -> None:
    """The job runs in a folder of its own, that is gone with it."""
    places = {
        "[source].uri": config.source.uri,
        "[state].uri": config.state.uri,
        "[milvus].uri": config.milvus.uri,
        "[golden].queries": config.golden.queries,
    }
    for key, uri in places.items():
        if uri and "://" not in uri and not Path(uri).expanduser().is_absolute():
            raise ConfigError(
                f"{key} = {uri!r} stands beside this configuration, where the cluster does not "
                "see it; name a bucket, a server, or an absolute path that all machines share."
            )


def _unique(now: datetime) -> str:
    return f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
