"""A real Milvus behind TLS, under an authority of our own, that asks for a token."""

import pytest

from storage.errors import AccessRefusedError, SettingError, StoreUnavailableError
from storage.milvus_settings import MilvusSettings
from storage.vectors import connect
from tests.jobs.world import World, manual
from tests.servers.milvus import running_milvus_235

pytestmark = pytest.mark.server

TOKEN = "root:Milvus"
"""What the server is born with."""


@pytest.fixture(scope="module")
def settings(authority, tmp_path_factory):
    """How it is reached. Every test needs the token in its environment."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KITELIFT_MILVUS_TOKEN", TOKEN)
        with running_milvus_235(
            tmp_path_factory.mktemp("milvus-tls"),
            ca_file=str(authority.ca_file),
            COMMON_SECURITY_TLSMODE="1",
            COMMON_SECURITY_AUTHORIZATIONENABLED="true",
            TLS_SERVERPEMPATH=str(authority.chain),
            TLS_SERVERKEYPATH=str(authority.chain),
        ) as uri:
            yield MilvusSettings(uri=uri, ca_file=str(authority.ca_file), connect_seconds=5)


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("KITELIFT_MILVUS_TOKEN", TOKEN)


def refusal(settings, **changes):
    with pytest.raises((SettingError, AccessRefusedError, StoreUnavailableError)) as caught:
        connect(settings.model_copy(update=changes))
    return caught.value


def test_a_run_goes_through_tls_with_its_token(settings, tmp_path, openai_server):
    world = World(
        folder=tmp_path, milvus_uri=settings.uri, alias="behind_tls", server=openai_server
    )
    world.settings = {"milvus": {"ca_file": settings.ca_file}}
    world.put("a.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(2)})

    assert world.run()["outcome"] == "succeeded"

    assert world.documents().keys() == {"0.md", "1.md"}


def test_an_authority_that_is_unknown_is_not_spoken_to(settings):
    error = refusal(settings, ca_file="")

    assert isinstance(error, SettingError)
    assert "certificate" in str(error)
    assert "milvus.server_name" in str(error)


def test_a_certificate_of_another_name_needs_the_name(settings):
    elsewhere = settings.uri.replace("127.0.0.1", "localhost")

    assert "certificate" in str(refusal(settings, uri=elsewhere))
    named = settings.model_copy(update={"uri": elsewhere, "server_name": "127.0.0.1"})
    connect(named).close()


@pytest.mark.parametrize("wrong", ["root:wrong-7f3a", ""])
def test_a_wrong_token_is_refused_and_not_repeated(settings, monkeypatch, wrong):
    monkeypatch.setenv("KITELIFT_MILVUS_TOKEN", wrong)

    error = refusal(settings)

    assert isinstance(error, AccessRefusedError)
    assert "wrong-7f3a" not in str(error)


def test_without_tls_it_does_not_answer(settings):
    error = refusal(settings, uri=settings.uri.replace("https", "http"), connect_seconds=0.5)

    assert isinstance(error, StoreUnavailableError)


def test_an_authority_that_is_no_file_is_named(settings):
    assert "there is no file nowhere.pem" in str(refusal(settings, ca_file="nowhere.pem"))
