"""A folder to call `kitelift convert` in."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path
