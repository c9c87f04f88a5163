"""Runs one after the other that leave the collection to whoever waits for it."""

import time
from collections.abc import Callable
from dataclasses import replace

from jobs.config import Config
from jobs.progress import View
from jobs.report import Report
from jobs.run import RunOptions, run_job
from jobs.stopping import StopSign

LEAVE_SECONDS = 5.0
"""For the other run to take the lease: it looks once a second."""

WAIT_SECONDS = 86_400.0
"""At least so long a run waits for the one that it gave way to."""


def run_in_turns(
    config: Config,
    options: RunOptions,
    view: View,
    sign: StopSign,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """As `run_job`; a run that gave way is followed by another once the collection is free again.

    Returns:
        The report of the last run, which is the first one if we were interrupted behind it.
    """
    report = run_job(config, options, view, sign)
    patient = replace(options, run_id="", wait_seconds=max(options.wait_seconds, WAIT_SECONDS))
    while sign.gives_way:
        view.tell(f"{sign.reason}; what was committed stays, the rest follows when that is over")
        sign.reason, sign.gives_way = "", False
        sleep(LEAVE_SECONDS)
        if sign.reason:  # an interrupt meanwhile
            return report
        report = run_job(config, patient, view, sign)
    return report
