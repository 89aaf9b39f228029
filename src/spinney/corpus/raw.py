"""Running text: tokenized sentences, one per line, or prose to split and tokenize.

The splitter and the tokenizer are a page of rules, not a model. They know European punctuation, the commonest
English abbreviations and the contractions that the Penn Treebank splits (``do n't``, ``it 's``). They do not
know that a line break may end a sentence (headings, verse), nor where words end in scripts without spaces
(Chinese, Japanese, Thai: a run of characters between punctuation is one token).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from unicodedata import category

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import (
    Block,
    OnError,
    ReadReport,
    fields,
    parse_blocks,
    read_blocks,
    read_stanza_blocks,
)


def read_tokenized(
    path: FilePath,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[list[str]]:
    """The sentences of a file with one per line, as tokens separated by ASCII white space; blank lines are left out.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "lm.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("no it was n't black monday\\n\\nbut while\\n")
    >>> list(read_tokenized(path))
    [['no', 'it', 'was', "n't", 'black', 'monday'], ['but', 'while']]
    """
    report = ReadReport() if report is None else report
    blocks = read_blocks(path, encoding)
    for sentences in parse_blocks(blocks, tokenized_lines, Block.each_line, on_error, report):
        report.read += len(sentences)
        yield from sentences


def read_prose(
    path: FilePath,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    tokeniser: Callable[[str], Iterator[list[str]]] | None = None,
) -> Iterator[list[str]]:
    """The sentences of a file of prose, as tokens. A blank line ends a paragraph, and so a sentence.

    With ``on_error="skip"``, a paragraph with a byte that cannot be decoded is dropped. Sentences and tokens are found
    by :func:`tokenized_sentences`, or by another ``tokeniser`` (:func:`spinney.corpus.tokenisers.tokeniser`).

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "prose.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("Mr. Pym can't\\ncome. He's ill.\\n")
    >>> list(read_prose(path))
    [['Mr.', 'Pym', 'ca', "n't", 'come', '.'], ['He', "'s", 'ill', '.']]
    """
    report = ReadReport() if report is None else report
    blocks = read_stanza_blocks(path, encoding)
    for text in parse_blocks(blocks, Block.decode, Block.each_stanza, on_error, report):
        for sentence in (tokeniser or tokenized_sentences)(text):
            report.read += 1
            yield sentence


def tokenized_sentences(text: str) -> Iterator[list[str]]:
    """The sentences of a text, each a list of tokens.

    Examples
    --------
    >>> list(tokenized_sentences("It works. Does it?"))
    [['It', 'works', '.'], ['Does', 'it', '?']]
    """
    for sentence in split_sentences(text):
        yield tokenize(sentence)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with its white space reduced to single spaces.

    A sentence ends at ``.``, ``!``, ``?`` or ``…`` (and closing quotes or brackets) before white space and
    what can begin a sentence; at ``。``, ``！``, ``？`` anywhere; and at a blank line. A full stop after an
    initial, a title or another abbreviation ends none, except one that often ends sentences (``etc.``,
    ``p.m.``, ``Inc.``) before a word that often begins them.

    Examples
    --------
    >>> split_sentences("Dr. J. Smith left at 5 p.m. He was tired (very!). The U.S. team won 3.5 points.")
    ['Dr. J. Smith left at 5 p.m.', 'He was tired (very!).', 'The U.S. team won 3.5 points.']
    """
    sentences = []
    for paragraph in _PARAGRAPH_BREAK.split(text):
        paragraph = " ".join(paragraph.split())
        start = 0
        for match in _SENTENCE_END.finditer(paragraph):
            end = match.end()
            before = paragraph[max(start, match.start() - 40) : match.start()]
            if _ends_sentence(before, match[0], paragraph[end : end + 40]):
                sentences.append(paragraph[start:end].strip())
                start = end
        if rest := paragraph[start:].strip():
            sentences.append(rest)
    return sentences


def tokenize(text: str) -> list[str]:
    """Words, numbers, addresses and punctuation marks, in order; nothing is dropped but white space.

    Examples
    --------
    >>> tokenize("She didn't pay $3,000.50 for Jean-Luc's (old) car...")
    ['She', 'did', "n't", 'pay', '$', '3,000.50', 'for', 'Jean-Luc', "'s", '(', 'old', ')', 'car', '...']
    """
    return _token(text.isascii()).findall(text)


def tokenized_lines(block: Block) -> list[list[str]]:
    """The sentences of a block with one per line."""
    lines = block.decode().split("\n")
    return [tokens for tokens in map(_shared_fields if len(block.text) > _LONG else fields, lines) if tokens]


def _shared_fields(line: str) -> list[str]:
    """The fields of a line so long that equal words had better be one object."""
    return list(map(sys.intern, fields(line)))


#: Bytes of a block that holds a long line: others are as large as what is read at a time.
_LONG = 4 << 20
_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
_CLOSING = "\"'”’»)\\]"
_SENTENCE_END = re.compile(rf"[.!?…。！？]++[{_CLOSING}」』]*+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never at the end of a sentence: something must follow.
_TITLES = _words("""
    adm capt col cpl dr fr gen gov hon lt maj messrs mlle mme mr mrs ms mt pres prof rep rev sen sgt st
    e.g i.e viz vs cf al approx
""")
_BEFORE_NUMBERS = _words("ch eq fig figs no nos p pp sec vol")
# At the end of a sentence only if what follows often begins one.
_ABBREVIATIONS = _words("""
    a.m p.m etc inc co corp ltd bros jr sr u.s u.k u.n ph.d m.d b.c a.d ave blvd rd
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun
""")
_OPENERS = _words("""
    a after all also although an and as at because before both but by each even every first for from he her
    here his how however i if in is it its many more most my no not now of on once one only or our she since
    so some such that the their then there these they this those though to under until we what when where
    while who why with yet you your
""")


def _ends_sentence(before: str, end: str, after: str) -> bool:
    if end[0] in "。！？":
        return True
    following = after.lstrip(" \"'“‘«([¿¡-–—*")
    if after[:1] != " " or following[:1].islower() or following[:1] in (".", ",", ";"):
        return False
    if end[0] != "." or end.startswith(".."):
        return True
    word = before.rpartition(" ")[2].lstrip("\"'“‘«([").lower()
    if word in _TITLES:
        return False
    if word in _BEFORE_NUMBERS:
        return not following[:1].isdigit()
    opens = re.split(r"\W", following, maxsplit=1)[0].lower() in _OPENERS
    if word in _ABBREVIATIONS or re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", word):
        return opens
    is_initial = len(word) == 1 and word.isalpha() and word != "i"
    return opens or not is_initial


@cache
def _token(ascii_only: bool) -> re.Pattern[str]:
    # \w leaves out combining marks, without which most Indian scripts fall apart.
    marks = "".join(chr(c) for c in range(0x300, 0x1E000) if category(chr(c))[0] == "M")
    w = r"\w" if ascii_only else rf"[\w{marks}\u200c\u200d]"
    negation = r"[nN]['’][tT]\b"
    clitic = r"['’](?:[sdmSDM]|re|ve|ll|RE|VE|LL)\b"
    return re.compile(
        rf"""
        [^\W\d_]++(?![-'’.·@:/]|{w})                          # a plain word: the commonest, so first
      | (?:https?://|www\.)[^\s<>"]*[^\s<>".,;:!?)'\]]        # addresses
      | [\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+
      | [@\#]{w}+                                            # @names and #tags
      | (?:[^\W\d_]\.){{2,}}(?!\w)                           # U.S. and e.g.
      | (?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Sen|Rep|Gov|Lt|Col|Capt|Inc|Corp|Co|Ltd|Bros|Mt|vs|etc)\.(?=\s)
      | \d+(?:[.,:/]\d+)*(?:st|nd|rd|th|s)?(?!{w})           # 3,000.50 and 12:30 and 21st
      | {w}+?(?={negation}) | {negation}                     # do n't
      | {clitic}                                             # it 's
      | {w}+(?:(?!{clitic})[-'’.·]{w}+)*                     # well-known, o'clock, example.com
      | [!?]+ | \.{{2,}} | -{{2,}} | ={{2,}} | \*{{2,}} | ~{{2,}} # runs of marks
      | \S
        """,
        re.VERBOSE | (re.ASCII if ascii_only else re.UNICODE),
    )
