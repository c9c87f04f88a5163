import numpy as np
import pytest

from chunking.local_model import DIM, LocalModel, as_phrases

TABLE = """章节：规格
| 型号 | 说明 |
|------|:----:|
| XQ-10 | 小型 \\| 室内 |
> | XQ-20 |  |
大型 | x"""


def test_the_rows_of_a_table_are_read_as_phrases():
    assert as_phrases(TABLE).split("\n") == [
        "章节：规格",
        "型号; 说明",
        "",
        "XQ-10; 小型 \\| 室内",
        "XQ-20",
        "大型 | x",
    ]


@pytest.mark.parametrize("text", ["|---|", "| | |", "|", "a || b", "x = a | b\n"])
def test_what_is_no_table_or_has_no_words_is_read_as_it_is(text):
    assert as_phrases(text) == text


def test_a_vector_for_each_text_of_length_1():
    vectors = LocalModel()(["一句话。", "A sentence.", "| a | b |"])

    assert (vectors.shape, vectors.dtype) == ((3, DIM), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
