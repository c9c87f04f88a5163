"""Real files of real parsers lie beside the project; tests that need them say so where not."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
DATA = PROJECT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def data():
    """The folder of real files."""
    if not DATA.is_dir():
        pytest.skip(f"the real files are not here: {DATA}")
    return DATA
