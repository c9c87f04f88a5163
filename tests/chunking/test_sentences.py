import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking import Block, Document, StructureAwareChunker
from chunking.sentences import sentence_ends, sentence_splitter, split_sentences
from tests.rules import body_of


@pytest.mark.parametrize(
    "sentences",
    [
        ["他说：“先看日志。”", "随后重启！", "“真的？！”", "他问。", "（见附录。）", "完。"],
        ["《摔跤吧！爸爸》上映了。", "好看。"],
        ["「行こう。」", "と言った。"],
        ["甲；", "乙；", "丙"],
        ["Dr. Smith went home. ", "He slept."],
        ["See e.g. the manual. ", "It costs 3.14 dollars. ", "Really?! ", "Yes."],
        ["Visit https://a.com/x?y=1.2. ", "Then go."],
        ['She said "Stop." ', "He did."],
        ["Use `a. b` here. ", "Done."],
        ["J. R. Smith wrote it. ", "In 1999. ", "Then v1.2. ", "End"],
        ["The firm, etc. ", "Another one."],
        ["approx. three of them. ", "Four."],
        ["1. 安装软件。", "2. 运行它。"],
        ["A &nbsp; B; ", "C"],
        ["**注意。**", "下一句。", "**重点**：内容。"],
        ["一行\n", "两行\n\n", "  三行"],
        ["运行 it.", "然后停止。"],
        ["هل هذا؟ ", "نعم۔ ", "ثم"],
        ["यह है। ", "वह है।"],
        ["Wait... ", "What?"],
        ["Wait... and see."],
        ["。。。"],
        ["U+2028\u2028is no line end. ", "Nor is VT."],
    ],
    ids=lambda sentences: sentences[0][:12],
)
def test_rules_cut_where_a_reader_would(sentences):
    assert split_sentences("".join(sentences)) == sentences


@given(st.one_of(st.text(), st.text("a1.。！？!?;”\"'*》《 \n`&")))
def test_sentences_joined_are_the_text_and_none_is_only_signs(text):
    sentences = split_sentences(text)

    assert "".join(sentences) == text
    if len(sentences) > 1:
        assert all(any(map(str.isalnum, sentence)) for sentence in sentences)


def test_pysbd_can_take_the_rules_place():
    split = sentence_splitter("pysbd")
    text = "My name is Jonas E. Smith. Please turn to p. 55.  Thanks!"

    ends = sentence_ends(text, split)
    assert [text[a:b] for a, b in zip([0, *ends], ends, strict=False)] == [
        "My name is Jonas E. Smith. ",
        "Please turn to p. 55.  ",
        "Thanks!",
    ]
    assert len(sentence_ends("今天天气很好。我们去公园吧！好不好？", split)) == 3


@pytest.mark.parametrize("name", ["hanlp", "pysbd"])
def test_a_splitter_whose_extra_is_missing_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysbd", None)
    monkeypatch.setitem(sys.modules, "hanlp.utils.rules", None)

    with pytest.raises(ValueError, match=rf"kitelift\[{name}\]"):
        sentence_splitter(name)


def test_hanlp_can_take_the_rules_place():
    split = sentence_splitter("hanlp")
    text = "今天天气很好。我们去公园吧！好不好？" * 8
    document = Document(document_id="d", text=text)

    chunks = StructureAwareChunker(64, 0, sentence_splitter="hanlp").chunk(document)

    assert len(sentence_ends(text, split)) == 24
    assert "".join(chunk.content for chunk in chunks) == text
    assert {chunk.content[-1] for chunk in chunks} <= set("。！？")


def test_an_unknown_splitter_is_refused_by_name():
    with pytest.raises(ValueError, match="'nltk' must be one of rules, hanlp, pysbd"):
        StructureAwareChunker(sentence_splitter="nltk")


@pytest.mark.parametrize(
    "split",
    [
        lambda text: [part.strip() + "!" for part in text.split("。")],  # rewrites what it reads
        lambda _: [],
        lambda text: text.split("。"),  # loses its full stops
        lambda text: [text[::-1]],
        list,
    ],
    ids=["rewrites", "nothing", "strips", "reverses", "letters"],
)
def test_a_user_s_splitter_cannot_lose_a_letter(split):
    text = "".join(f"这是第{n}个句子。" for n in range(60))
    document = Document(document_id="d", blocks=(Block(kind="paragraph", text=text),))
    chunker = StructureAwareChunker(64, 0, sentence_splitter=split)

    assert "".join(body_of(chunk) for chunk in chunker.chunk(document)) == text


def test_a_user_s_splitter_is_named_in_the_settings():
    chunker = StructureAwareChunker(sentence_splitter=split_sentences)

    assert chunker.settings["sentence_splitter"] == "chunking.sentences:split_sentences"
