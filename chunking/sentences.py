"""Where sentences end, in Chinese, English and the scripts with full stops of their own."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

SentenceSplitter = Callable[[str], list[str]]
"""Gives the sentences of a text in order. What lies between two of them goes to the first."""

SPLITTERS = ("rules", "hanlp", "pysbd")

_CLOSERS = r"[”’」』）】》〉〕〗］｝)\]}]*"
_ALWAYS = "。！？；｡．؟۔؛।॥။።։។"
"""Full stops that end a sentence wherever they stand (Latin ones need a blank behind them)."""

_EVENT = re.compile(
    rf"""
      (?P<kept> 《[^《》\n]{{0,200}}》            # titles are names, whatever they hold
      | `[^`\n]{{1,200}}`                        # inline code
      | (?:https?|ftp)://[^\s<>"'“”‘’（）【】《》，。！？；、]*[^\s<>"'“”‘’（）【】《》，。！？；、.,;:!?)\]}}]
      | &\#?\w{{1,31}};                          # HTML entities
      )
    | (?P<line> \n (?:[^\S\n]*\n)* )
    | (?P<stop> (?: [{_ALWAYS}] [{_ALWAYS}!?.]* | [.!?;]+ [{_ALWAYS}!?.]* ) )
      (?P<close> {_CLOSERS} )
      (?P<marks> ["'*_~]* )
      (?P<space> [^\S\n]* )
    """,
    re.VERBOSE,
)
_HAN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD_BEFORE = re.compile(r"[^\W_]+(?:\.[^\W_]+)*$")
_LOOK_BACK = 200
"""Characters looked at to find the word before a full stop, or the mark that opened a quote."""
_SLACK = 1000
"""Characters that a splitter may have left out between two sentences: white space, mostly."""

_ABBREVIATIONS = frozenset(
    """
    adm al approx art assoc aug ave bros capt cf ch chap co col corp dec dept diff dr ed eds eg
    e.g eq eqs est et etc ext feb fig figs fr gen gov hon i.e ie inc jan jr jul jun lt ltd maj mar
    max messrs min mr mrs ms mt no nos nov oct op p para pp prof pt ref refs rep resp rev sat sec
    sen sep sept sgt sr st sun tab tel thu thur tue u.k u.s univ v viz vol vols vs wed a.k.a a.m
    p.m ph.d m.sc b.sc d.c
    """.split()  # noqa: SIM905 - one word a string would fill a page
)
_ENDS_BEFORE_CAPITAL = frozenset({"etc", "a.m", "p.m", "inc", "ltd", "corp", "co"})


def split_sentences(text: str) -> list[str]:
    """Split by rules; joined, the sentences are `text` again.

    A sentence ends behind 。！？； and their like, behind . ! ? ; before a blank or a Chinese
    character, and at a line break. Closing quotes and brackets and the blanks that follow stay
    with their sentence. Abbreviations, initials, numbers, URLs, inline code and 《titles！》 are
    not cut, and nothing that is only punctuation stands alone.
    """
    ends: list[int] = []
    start = 0
    for end in (*_ends(text), len(text)):
        if any(map(str.isalnum, text[start:end])) or not ends:
            ends.append(end)
        else:
            ends[-1] = end
        start = end
    if len(ends) > 1 and not any(map(str.isalnum, text[: ends[0]])):
        del ends[0]  # signs at the very start go to the first sentence
    return [text[start:end] for start, end in pairwise((0, *ends)) if start < end]


def sentence_splitter(name: str) -> SentenceSplitter:
    """The splitter of that name; `hanlp` and `pysbd` are extras of their own.

    Raises:
        ValueError: No such splitter, or its extra is not installed.
    """
    if name == "rules":
        return split_sentences
    if name not in SPLITTERS:
        raise ValueError(f"sentence_splitter={name!r} must be one of {', '.join(SPLITTERS)}.")
    try:
        return _hanlp() if name == "hanlp" else _pysbd()
    except ImportError as error:
        raise ValueError(
            f"sentence_splitter={name!r} needs its extra: pip install 'kitelift[{name}]'."
        ) from error


def sentence_ends(text: str, split: SentenceSplitter) -> list[int]:
    """Where the sentences of `text` end, whatever the splitter strips, changes or loses.

    A sentence that is not found in the text where it is due opens no place to cut; so nothing is
    lost with a splitter that rewrites what it reads.
    """
    starts: list[int] = []
    position = 0
    for sentence in split(text):
        wanted = sentence.strip()
        found = text.find(wanted, position, position + len(wanted) + _SLACK) if wanted else -1
        if found >= 0:
            starts.append(found)
            position = found + len(wanted)
    return [*starts[1:], len(text)]


def _ends(text: str) -> Iterator[int]:
    """Ends of sentences, in order; the last one may be missing."""
    start = 0
    for event in _EVENT.finditer(text):
        if event["kept"]:
            continue
        end = event.end() if event["line"] else _sentence_end(text, start, event)
        if end:
            start = end
            yield start


def _sentence_end(text: str, start: int, event: re.Match[str]) -> int | None:
    """Where the sentence that began at `start` ends, if it does so at this stop."""
    stop, marks, end = event["stop"], event["marks"], event.end()
    following = text[end : end + 1]
    is_open = following and not event["space"] and following != "\n"
    if marks and is_open:  # do the quote or the emphasis close here, or open the next sentence?
        before = text.count(marks, max(start, event.start() - _LOOK_BACK), event.start())
        if before % 2 == 0:
            end = event.start("marks")
    if any(sign in _ALWAYS for sign in stop):
        return end
    if is_open and (end < event.end() or not _HAN.match(following)):
        return None
    if following.islower() and not stop.strip("."):
        return None  # an abbreviation, or a pause: "Wait... and see."
    if stop == "." and _is_inside(text, start, event.start("stop"), following):
        return None
    return end


def _is_inside(text: str, start: int, dot: int, following: str) -> bool:
    """Whether the full stop at `dot` belongs to an abbreviation, a number or an initial."""
    match = _WORD_BEFORE.search(text, max(start, dot - _LOOK_BACK), dot)
    if not match:
        return False
    word = match[0]
    if len(word) == 1 and word.isupper():
        return True
    if word.replace(".", "").isdigit():
        return text[start : match.start()].isspace() or start == match.start()  # of a list item
    if word.lower() in _ABBREVIATIONS:
        return not (word.lower() in _ENDS_BEFORE_CAPITAL and following.isupper())
    return False


def _hanlp() -> SentenceSplitter:
    from hanlp.utils.rules import split_sentence  # noqa: PLC0415 - an optional extra

    return lambda text: list(split_sentence(text))


def _pysbd() -> SentenceSplitter:
    import pysbd  # noqa: PLC0415 - an optional extra

    chinese, english = (pysbd.Segmenter(language=code, clean=False) for code in ("zh", "en"))

    def split(text: str) -> list[str]:
        return list((chinese if _HAN.search(text) else english).segment(text))

    return split
