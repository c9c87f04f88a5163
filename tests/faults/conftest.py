"""The world of tests/jobs, broken for real."""

from tests.jobs.conftest import forked, world  # noqa: F401 - fixtures
