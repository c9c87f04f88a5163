"""Ray's Jobs API: hand a command to a cluster, join it, follow it, stop it.

Beside the driver, the only one to know Ray.
"""

import asyncio
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
from ray.job_submission import JobDetails, JobStatus, JobSubmissionClient

import chunking
import jobs
import storage
from jobs.config import DEFAULT_PATH, ConfigError
from jobs.submission import Submission
from storage.errors import SettingError, StoreUnavailableError

POLL_SECONDS = 0.5
RELEASE_SECONDS = 3.0
"""Ray watches a job by its name, once a second: a new job that gets the name of one that ended
just now would be taken for it, and marked as failed."""
STOPPED = 3
"""Exit code of a job that was stopped or lost: like that of a run that a fault ended."""

Tell = Callable[[str], None]


class Cluster:
    """The jobs of one cluster, by its dashboard's address."""

    def __init__(self, address: str) -> None:
        """Connect.

        Raises:
            SettingError: Nobody answers there.
            StoreUnavailableError: It does not answer any more; from every method.
        """
        self._address = address
        for handler in logging.getLogger("ray").handlers:
            handler.setLevel(logging.WARNING)  # it narrates uploads and closed connections
        try:
            self._client = JobSubmissionClient(address)
        except (RuntimeError, ConnectionError) as error:
            raise SettingError(
                "--address",
                f"no dashboard of Ray answers at {address} ({_first_line(error)})",
                "`ray start --head` starts a cluster on this machine; or name another.",
            ) from None

    def submit(
        self, submission: Submission, config_file: Path | None, *, with_code: bool, retry: bool
    ) -> bool:
        """Start it, unless a job of this name is there already.

        Args:
            submission: What to run.
            config_file: Sent along; None where the defaults serve.
            with_code: Send our packages too, for a cluster whose image lacks them.
            retry: Replace an earlier job of this name that did not succeed.

        Returns:
            Whether it was started by this call.
        """
        known = self._find(submission.submission_id)
        if known and retry and known.status.is_terminal() and known.status != JobStatus.SUCCEEDED:
            time.sleep(RELEASE_SECONDS)
            with self._our_errors():
                self._client.delete_job(submission.submission_id)
            known = None
        if known:
            return False
        with self._folder(config_file) as folder:
            runtime_env: dict[str, Any] = {"working_dir": str(folder)}
            if with_code:
                packages = (chunking, storage, jobs)
                runtime_env["py_modules"] = [str(Path(p.__path__[0])) for p in packages]
            try:
                self._client.submit_job(
                    entrypoint=submission.entrypoint,
                    submission_id=submission.submission_id,
                    runtime_env=runtime_env,
                    metadata={"kitelift_tick": submission.tick},
                )
            except (RuntimeError, ConnectionError) as error:
                if self._find(submission.submission_id) is None:
                    raise self._unavailable(error) from None
                return False  # another firing of the same tick was faster
        return True

    def follow(self, submission_id: str, write: Callable[[str], None], tell: Tell) -> int:
        """Write a job's log as it grows, and wait for its end.

        Returns:
            Its exit code.
        """
        return exit_code(asyncio.run(self._follow(submission_id, write, tell)))

    def status(self, submission_id: str) -> JobDetails:
        job = self._find(submission_id)
        if job is None:
            raise ConfigError(
                f"the cluster at {self._address} knows no job {submission_id!r}; it forgets its "
                "jobs when it is restarted. `kitelift runs` asks the ledger."
            )
        return job

    def stop(self, submission_id: str) -> bool:
        """SIGTERM, and after Ray's patience SIGKILL. Returns whether it was still at work."""
        self.status(submission_id)
        with self._our_errors():
            return bool(self._client.stop_job(submission_id))

    def logs(self, submission_id: str) -> str:
        self.status(submission_id)
        with self._our_errors():
            return str(self._client.get_job_logs(submission_id))

    async def _follow(
        self, submission_id: str, write: Callable[[str], None], tell: Tell
    ) -> JobDetails:
        """The tail ends seconds after the job, or breaks off: what it lacks is written last."""
        written = 0

        async def tail() -> None:
            nonlocal written
            async for lines in self._client.tail_job_logs(submission_id):
                write(lines)
                written += len(lines)

        tailing = asyncio.create_task(tail())
        job = self.status(submission_id)
        while not job.status.is_terminal():
            await asyncio.sleep(POLL_SECONDS)
            job = await asyncio.to_thread(self.status, submission_id)
        tailing.cancel()
        with suppress(asyncio.CancelledError, RuntimeError, aiohttp.ClientError):
            await tailing
        try:
            write(self.logs(submission_id)[written:])
        except StoreUnavailableError as error:
            tell(f"the end of the log of {submission_id} cannot be had: {error}")
        return job

    def _find(self, submission_id: str) -> JobDetails | None:
        try:
            with self._our_errors():
                return self._client.get_job_info(submission_id)
        except StoreUnavailableError as error:
            if "status code 404" in error.reason:
                return None
            raise

    @contextmanager
    def _folder(self, config_file: Path | None) -> Iterator[Path]:
        """All that is uploaded of a caller's files: the configuration, under its default name."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            body = config_file.read_bytes() if config_file else b"# the defaults\n"
            (folder / DEFAULT_PATH).write_bytes(body)
            yield folder

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ConnectionError) as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: Exception) -> StoreUnavailableError:
        return StoreUnavailableError("Ray's Jobs API", self._address, _first_line(error))


def exit_code(job: JobDetails) -> int:
    """That of the command: `ray job submit` itself makes a 1 of each that is not 0."""
    if job.status == JobStatus.SUCCEEDED:
        return 0
    code = job.driver_exit_code
    return code if code is not None and code > 0 else STOPPED


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
