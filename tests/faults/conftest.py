"""The world of tests/jobs, broken for real."""

from tests.jobs.conftest import world  # noqa: F401 - a fixture
