"""S3 as it is on a bad day: answers lost or cut, servers that ignore headers or ask for less."""

from collections.abc import Iterator

import pytest

from storage.errors import (
    AccessRefusedError,
    BadParquetError,
    ConditionFailedError,
    ObjectChangedError,
    SettingError,
    SlowDownError,
    StorageError,
    StoreUnavailableError,
)
from storage.protocols import ObjectInfo
from storage.s3_objects import S3ObjectStore, S3Settings
from tests.servers.s3_proxy import Answer, Proxy, cut, lost, run_proxy, says

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def proxy_of_module(s3_endpoint) -> Iterator[Proxy]:
    with run_proxy(s3_endpoint) as proxy:
        yield proxy


@pytest.fixture
def proxy(proxy_of_module) -> Proxy:
    proxy_of_module.faults.clear()
    proxy_of_module.requests = 0
    return proxy_of_module


@pytest.fixture
def store(proxy, s3_bucket, s3_settings) -> S3ObjectStore:
    settings = S3Settings(endpoint_url=proxy.url, region=s3_settings.region, max_attempts=3)
    return S3ObjectStore(s3_bucket, settings)


def refusal(status: int, code: str, **headers: str) -> Answer:
    body = f"<Error><Code>{code}</Code><Message>told so</Message></Error>".encode()
    return Answer(status=status, headers={"Content-Length": str(len(body)), **headers}, body=body)


def test_a_claim_whose_answer_was_lost_is_known_as_our_own(proxy, store):
    """The SDK asks again and is told 412; who takes that at its word waits for itself for ever."""
    proxy.faults.append(lost)

    etag = store.put("claim", b"mine", if_absent=True)

    assert store.get("claim") == (b"mine", etag)


def test_a_swap_whose_answer_was_lost_is_known_as_our_own(proxy, store):
    first = store.put("lease", b"1")
    proxy.faults.append(lost)

    second = store.put("lease", b"2", if_etag=first)

    assert store.get("lease") == (b"2", second)


def test_a_lost_answer_does_not_hide_that_somebody_else_won(proxy, store):
    store.put("claim", b"mine", if_absent=True)
    proxy.faults.append(lost)

    with pytest.raises(ConditionFailedError):
        store.put("claim", b"mine", if_absent=True)


def test_a_write_is_repeated_while_another_one_is_under_way(proxy, store):
    proxy.faults.append(says(refusal(409, "ConditionalRequestConflict")))

    etag = store.put("claim", b"mine", if_absent=True)

    assert store.get("claim") == (b"mine", etag)


def test_a_body_that_breaks_off_is_fetched_again(proxy, store):
    data = bytes(range(256)) * 1000
    etag = store.put("k", data)
    info = store.head("k")

    proxy.faults.append(cut)
    assert store.get("k") == (data, etag)
    with store.open(info) as file:
        proxy.faults.append(cut)
        assert file.read() == data


def test_a_body_that_always_breaks_off_is_given_up(proxy, store):
    store.put("k", b"0123456789")
    proxy.requests = 0
    proxy.faults.extend([cut] * 9)

    with pytest.raises(StoreUnavailableError, match=proxy.url):
        store.get("k")

    assert proxy.requests == 3


def test_the_answers_etag_is_compared_where_a_server_ignores_if_match(proxy, store):
    store.put("k", b"listed")
    info = store.head("k")
    with store.open(info) as file:
        newer = {"Content-Length": "6", "ETag": f'"{store.put("k", b"newer!")}"'}
        proxy.faults.append(says(Answer(status=206, headers=newer, body=b"newer!")))
        with pytest.raises(ObjectChangedError):
            file.read()


def test_an_object_that_became_shorter_is_a_changed_one(proxy, store):
    """A server that ignores If-Match finds the range to lie beyond the end."""
    store.put("k", b"0123456789")
    info = store.head("k")
    proxy.faults.append(says(refusal(416, "InvalidRange")))

    with pytest.raises(ObjectChangedError):
        store.read_range(info, 5, 5)


def test_a_server_that_ignores_ranges_is_not_believed(proxy, store):
    store.put("k", b"0123456789")
    info = store.head("k")
    whole = Answer(
        status=200, headers={"Content-Length": "10", "ETag": f'"{info.etag}"'}, body=b"0123456789"
    )

    proxy.faults.append(says(whole))
    with pytest.raises(StoreUnavailableError, match="10 bytes of a range of 4"):
        store.read_range(info, 2, 4)


@pytest.mark.parametrize(
    ("answer", "expected", "text"),
    [
        (refusal(503, "SlowDown", **{"Retry-After": "7"}), SlowDownError, "told so"),
        (refusal(429, "TooManyRequests"), SlowDownError, "slow down"),
        (refusal(500, "InternalError"), StoreUnavailableError, "InternalError"),
        (refusal(403, "RequestTimeTooSkewed"), AccessRefusedError, "RequestTimeTooSkewed"),
        (refusal(403, "InvalidObjectState"), BadParquetError, "archived"),
        (refusal(400, "AuthorizationHeaderMalformed"), SettingError, "told so"),
        (
            Answer(status=502, headers={"Content-Length": "6"}, body=b"<html>"),
            StoreUnavailableError,
            "502",
        ),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_an_answer_gets_its_fate(proxy, store, answer, expected, text):
    proxy.faults.extend([says(answer)] * 3)

    with pytest.raises(expected, match=text):
        store.get("k")


def test_retry_after_is_passed_on(proxy, store):
    proxy.faults.extend([says(refusal(503, "SlowDown", **{"Retry-After": "7"}))] * 3)

    with pytest.raises(SlowDownError) as slow:
        store.get("k")

    assert slow.value.retry_after == 7


def test_a_web_page_is_no_listing(proxy, store):
    page = b"<html><body>Welcome</body>"
    proxy.faults.extend(
        [says(Answer(status=200, headers={"Content-Length": str(len(page))}, body=page))] * 3
    )

    with pytest.raises(StorageError, match=proxy.url):
        list(store.list())


def test_a_listing_that_its_server_does_not_sort_is_sorted(proxy, store):
    items = "".join(
        f"<Contents><Key>{key}</Key><ETag>&quot;{key}&quot;</ETag><Size>1</Size></Contents>"
        for key in ("b", "a/c", "B", "a", "b")
    )
    page = f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>".encode()
    headers = {"Content-Length": str(len(page)), "Content-Type": "application/xml"}
    proxy.faults.append(says(Answer(status=200, headers=headers, body=page)))

    assert [info.key for info in store.list()] == ["B", "a", "a/c", "b"]


def test_a_passing_fault_is_not_noticed(proxy, store):
    store.put("k", b"data")
    proxy.faults.extend([says(refusal(500, "InternalError")), says(refusal(503, "SlowDown"))])

    assert store.get("k")[0] == b"data"


def test_an_object_that_was_never_listed_is_not_opened(store):
    store.put("k", b"data")

    with pytest.raises(ObjectChangedError):
        store.open(ObjectInfo(key="k", etag="another", size=4))
