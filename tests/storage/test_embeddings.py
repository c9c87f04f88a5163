import subprocess
import sys

import numpy as np
import pytest

from storage.canary import CANARY_TEXT, probe
from storage.embeddings import EmbeddingSettings, open_embedder
from storage.errors import SettingError
from storage.protocols import Embedded


class Mine:
    """What a user would bring: no more than the protocol."""

    dim = 3

    def __init__(self, settings):
        self.name = f"mine:{settings.model}"

    def embed(self, texts):
        return Embedded(vectors=np.tile([[1, 0, 0]], (len(texts), 1)).astype(np.float32))


class Refusing(Mine):
    def embed(self, texts):
        return Embedded(vectors=np.zeros((len(texts), 3), np.float32), refused={0: "no birds"})


class WithoutDim:
    name = "x"

    def __init__(self, _settings): ...

    def embed(self, texts): ...


class WithCostlyDim(Mine):
    def __init__(self, _settings):
        self.name = "costly"

    @property
    def dim(self):
        raise AssertionError("opening must not ask for it")


class Picky(Mine):
    def __init__(self, _settings):
        raise ValueError("model too small")


def from_class(name):
    module = sys.modules[__name__]
    sys.modules.setdefault("a_users_module", module)
    return EmbeddingSettings.model_validate({"class": f"a_users_module:{name}", "model": "m"})


def test_a_users_class_is_opened_with_the_settings():
    embedder = open_embedder(from_class("Mine"))

    assert embedder.name == "mine:m"
    assert probe(embedder).dim == 3


def test_opening_a_users_class_asks_for_nothing_yet():
    assert open_embedder(from_class("WithCostlyDim")).name == "costly"


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("a_users_module:Missing", "Missing"),
        ("a_users_module:Picky", "model too small"),
        ("a_users_module:WithoutDim", "has no dim"),
        ("no_such_module_anywhere:X", "no_such_module_anywhere"),
        ("a_users_module", "package.module:Name"),
        (":X", "package.module:Name"),
    ],
)
def test_a_class_that_cannot_be_used_is_named_with_the_reason(path, complaint):
    from_class("Mine")  # puts the module in place

    with pytest.raises(SettingError, match=rf"embedding\.class.*{complaint}"):
        open_embedder(EmbeddingSettings.model_validate({"class": path}))


def test_a_probe_that_is_refused_stops_with_the_reason():
    with pytest.raises(SettingError, match="no birds"):
        probe(open_embedder(from_class("Refusing")))


def test_another_model_of_the_same_dimension_is_found_by_its_canary():
    mine = probe(open_embedder(from_class("Mine")))

    assert mine.is_same_model(np.array([1, 0.001, 0], np.float32))
    assert not mine.is_same_model(np.array([0.6, 0.8, 0], np.float32))
    assert not mine.is_same_model(np.array([1, 0], np.float32))


def test_the_canary_speaks_both_languages():
    assert "kite" in CANARY_TEXT
    assert "鸢" in CANARY_TEXT


def test_opening_the_local_model_imports_no_client():
    code = (
        "import sys; from storage.embeddings import *; open_embedder(EmbeddingSettings()).name; "
        "assert 'openai' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
