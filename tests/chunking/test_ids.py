"""Identity: the formula of the contract, letter for letter."""

from uuid import NAMESPACE_URL, uuid5

from hypothesis import given
from hypothesis import strategies as st

from chunking.ids import canonical_json, chunk_id, payload_hash


@given(st.text(), st.integers(0, 10**6), st.text())
def test_a_chunk_id_is_the_uuid5_of_the_contract(document_id, index, content):
    try:
        expected = str(uuid5(NAMESPACE_URL, f"{document_id}:chunk:{index}:{content}"))
    except UnicodeEncodeError:
        return  # lone surrogates never come this far

    assert chunk_id(document_id, index, content) == expected


def test_equal_values_have_one_spelling():
    assert canonical_json({"b": 1, "a": "汉"}) == canonical_json({"a": "汉", "b": 1})
    assert canonical_json({"a": "汉"}) == '{"a":"汉"}'.encode()
    assert payload_hash({"a": 1}) != payload_hash({"a": 2})
