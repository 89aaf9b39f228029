"""Bounds: lines without end, sentences without end, small files that hold a lot, names and numbers without end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import resource
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard

from spinney.corpus import (
    ReadReport,
    TokenArrays,
    open_bytes,
    open_text,
    read_columns,
    read_conllu,
    read_lines,
    read_svmlight,
    read_table,
    read_tokenized,
    read_trees,
    writing,
)
from spinney.corpus import compressed as compressed_module
from spinney.corpus.documents import read_documents
from spinney.corpus.labelled import guess_format
from spinney.corpus.limits import EXPANSION, LINE, max_expansion, max_line
from spinney.corpus.lines import check_encoding
from spinney.corpus.text import Reading, Source, numbered
from spinney.errors import InputError, OptionError

# ---------------------------------------------------------------------------------------- lines and sentences


@pytest.fixture
def short_lines(monkeypatch):
    monkeypatch.setenv(LINE, "1000")


def test_a_long_line_is_refused_with_its_number_and_the_remedy(make, short_lines):
    path = make("a b\n" + "x" * 1000 + "\n" + "y" * 1001 + "\n")
    with pytest.raises(InputError, match=rf"file.txt:3: a line of more than 1000 bytes .*set {LINE} to more"):
        list(read_lines(path))
    assert len(list(read_lines(make("x" * 1000)))) == 1


def test_a_long_line_is_refused_before_it_is_read(monkeypatch):
    """However much is behind it: standard input may have no end."""
    given = 0

    def endless():
        nonlocal given
        while True:
            given += 1
            yield b"x" * 100

    monkeypatch.setenv(LINE, "1k")
    from spinney.corpus.lines import _blocks

    with pytest.raises(InputError, match="a line of more than 1 kB"):
        list(_blocks(endless(), "-", "utf-8", b"\n", max_line()))
    assert given == 11


@pytest.mark.parametrize(
    ("read", "line", "end"),
    [
        (read_columns, "copy NN", "blank line"),
        (read_conllu, "copy", "blank line"),
        (read_trees, " (NN copy)", "bracket at the start of a line"),
    ],
)
def test_a_sentence_without_end_is_refused(make, short_lines, read, line, end):
    path = make("\n\n" + f"{line}\n" * 100_000)  # more than is read at a time
    with pytest.raises(InputError, match=rf"file.txt:\d: no {end} in the 1000 bytes from here on .*{LINE}"):
        list(read(path))


def test_an_endless_sentence_on_standard_input_ends_the_program(tmp_path):
    """``yes copy | spinney tag apply m -``."""
    program = (
        "import sys\n"
        "from spinney.corpus import read_columns\n"
        "from spinney.errors import InputError\n"
        "try:\n"
        "    list(read_columns('-'))\n"
        "except InputError as error:\n"
        "    sys.exit(str(error))\n"
    )
    with subprocess.Popen(["yes", "copy"], stdout=subprocess.PIPE) as endless:
        done = subprocess.run(
            [sys.executable, "-c", program], stdin=endless.stdout, capture_output=True, text=True, timeout=60,
            env={**os.environ, LINE: "2M"},
        )  # fmt: skip
        endless.terminate()
    assert done.returncode == 1
    assert "no blank line in the 2 MB from here on" in done.stderr
    assert LINE in done.stderr


def test_a_quotation_that_is_never_closed_does_not_fill_the_memory(make, short_lines):
    path = make('text\n"' + "copy\n" * 300, "a.csv")
    for on_error in ("raise", "skip"):
        with pytest.raises(
            InputError, match=r"a.csv:2: a field of more than 1000 bytes \(is a quotation mark"
        ):
            list(read_table(path, on_error=on_error))


@pytest.mark.parametrize("value", ["0", "-1", "much", "1e9", "9" * 30])
def test_bad_limits(monkeypatch, value):
    monkeypatch.setenv(LINE, value)
    with pytest.raises(OptionError, match=LINE):
        max_line()
    monkeypatch.setenv(EXPANSION, value if value not in ("1e9", "9" * 30) else "nan")
    with pytest.raises(OptionError, match=EXPANSION):
        max_expansion()


def test_the_first_line_is_not_read_whole_to_guess_a_format(make):
    path = make(gzip.compress(b"(NP (DT the) " + b"x" * 30_000_000), "long.gz")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert guess_format(str(path)) == "trees"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB
    assert guess_format(str(make("\ufeff(3 (2 a) (4 joy))\n"))) == "trees"


# ------------------------------------------------------------------------------------------- compressed files


def test_a_small_file_that_holds_too_much(make, monkeypatch):
    monkeypatch.setattr(compressed_module, "FREE", 100_000)
    monkeypatch.setenv(EXPANSION, "50")
    path = make(gzip.compress(b"a\n" * 200_000), "bomb.txt.gz")
    with pytest.raises(InputError, match=rf"bomb.txt.gz: holds more than .* set {EXPANSION} above 50"):
        for _ in read_lines(path):
            pass
    monkeypatch.setenv(EXPANSION, "5000")
    assert sum(1 for _ in read_lines(path)) == 200_000


def test_small_files_may_expand_as_they_like(make):
    path = make(lzma.compress(b"a\n" * 1_000_000), "plain.txt.xz")
    assert path.stat().st_size < 2_000_000 / 500
    assert sum(1 for _ in read_lines(path)) == 1_000_000


@pytest.mark.parametrize("suffix", [".xz", ".zst"])
def test_a_line_of_a_gigabyte_costs_little_memory(make, suffix):
    pack = lzma.compress if suffix == ".xz" else zstandard.ZstdCompressor().compress
    path = make(pack(b"a" * 1_000_000) * 1000, f"bomb.txt{suffix}")
    program = (
        "import sys\n"
        "from spinney.corpus import read_tokenized\n"
        "from spinney.errors import InputError\n"
        "try:\n"
        "    list(read_tokenized(sys.argv[1]))\n"
        "except InputError as error:\n"
        "    print(error)\n"
        # Not that of getrusage, which begins with the size of the process that started this one.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    said, peak = done.stdout.splitlines()
    assert f"{path}:1: a line of more than 64 MB" in said
    assert int(peak) < 700_000  # kB


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_a_damaged_second_stream_is_not_left_out(make, suffix):
    pack = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}.get(
        suffix, zstandard.ZstdCompressor(write_checksum=True).compress
    )
    second = bytearray(pack(b"b\n"))
    second[1] ^= 1
    path = make(pack(b"a\n") + bytes(second), f"two{suffix}")
    with pytest.raises(InputError, match=f"not a valid {suffix} file"), open_bytes(path) as file:
        file.read()


def test_padding_of_xz_is_no_stream(make):
    path = make(lzma.compress(b"a\n") + b"\0" * 8 + lzma.compress(b"b\n") + b"\0" * 4, "padded.xz")
    assert [line for _, line in read_lines(path)] == ["a", "b"]


# ------------------------------------------------------------------------------------- encodings and numbers


@pytest.mark.parametrize(
    "name",
    [
        "undefined", "rot13", "hex", "idna", "punycode", "base64", "unicode_escape", "raw_unicode_escape", "mbcs",
        "zlib", "bz2", "uu", "quopri", "oem", "x" * 3000, "", "a\0b", "../utf_8", "\ud800",
    ],
)  # fmt: skip
def test_what_is_not_an_encoding(make, name):
    with pytest.raises(OptionError, match="unknown encoding") as caught:
        check_encoding(name)
    assert len(str(caught.value)) < 300
    with pytest.raises(OptionError):
        open_text(make("a\n"), encoding=name)


def test_a_file_in_another_encoding_is_named(make):
    path = make(b"no mark", "odd.txt")
    with pytest.raises(InputError, match=r"odd.txt: not utf-16: UTF-16 stream does not start with BOM"):
        list(read_lines(path, "utf-16"))


LONG = "9" * 5000


def test_numbers_of_five_thousand_digits(make):
    fields = "_\t_\t_\t_\t_\t_\t_\t_"
    for number in (LONG, f"{LONG}-{LONG}", f"1-{LONG}", f"{LONG}.1", f"0.{LONG}"):
        with pytest.raises(InputError, match=r"file.txt:1"):
            list(read_conllu(make(f"{number}\tx\t{fields}\n1\tx\t{fields}\n\n")))
    with pytest.raises(InputError, match=r"file.txt:1: head"):
        list(read_conllu(make(f"1\tx\t_\t_\t_\t_\t{LONG}\t_\t_\t_\n\n")))
    with pytest.raises(InputError, match=r"file.txt:1"):
        read_svmlight(make(f"1 {LONG}:1\n"))
    for column in (LONG, "²"):
        with pytest.raises(OptionError, match="columns are numbers"):
            list(read_documents(make("a,b\n"), "csv", text=column, header=False))


def test_a_mark_of_byte_order_is_no_part_of_a_number(make):
    X, y = read_svmlight(make("\ufeff1 1:0.5 3:2\r\n-1 2:1\r\n"))
    assert y.tolist() == [1.0, -1.0]
    assert X.shape == (2, 3)
    with pytest.raises(InputError, match=r"file.txt:3: not svmlight"):
        read_svmlight(make("1 1:1\n1 2:1\n1 x:1\n1 1:1\n"))


def test_a_mark_alone_is_an_empty_file(make):
    assert list(read_lines(make(b"\xef\xbb\xbf"))) == []


def test_files_with_the_longest_names(tmp_path):
    for name in ("x" * 250, "ä" * 125, "x" * 255):
        with writing(tmp_path / name) as file:
            file.write("a\n")
        assert (tmp_path / name).read_text() == "a\n"
    with pytest.raises(InputError, match="file name too long"), writing(tmp_path / ("x" * 256)):
        pass
    with pytest.raises(InputError, match="file name too long"):
        list(read_tokenized("x" * 3000))


# --------------------------------------------------------------------------------------------------- caches


def test_a_damaged_cache_is_made_again(tmp_path, make, caplog):
    text, cache = make("the cat sat\nthe end\n"), str(tmp_path / "cache")

    def read():
        report = ReadReport()
        with numbered(Source([str(text)]), Reading(), report, cache) as arrays:
            return [arrays.vocabulary.decode(sentence) for sentence in arrays], report

    truth = read()
    assert read() == truth
    assert not caplog.records
    for name in sorted(os.listdir(cache)):
        path = os.path.join(cache, name)
        whole = open(path, "rb").read()  # noqa: SIM115
        for damaged in (whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1]), b"", b"{" * 5000):
            with open(path, "wb") as file:
                file.write(damaged)
            caplog.clear()
            assert read() == truth
            assert "so it is made again" in caplog.text


def test_a_damaged_folder_of_arrays(tmp_path):
    from spinney.corpus import sentence_arrays

    sentence_arrays([["a", "rose"]]).save(tmp_path / "arrays")
    ids = tmp_path / "arrays" / "ids.npy"
    header = ids.read_bytes()
    for bad in (
        header.replace(b"{", b"("),
        header.replace(b"}", b" "),
        header.replace(b"'shape': (2,)", b"'shape': (2"),
    ):
        ids.write_bytes(bad)
        with pytest.raises(InputError, match=r"damaged .delete it, and make it again"):
            TokenArrays.load(tmp_path / "arrays")


def test_times_that_no_array_can_hold():
    from spinney.trend.dates import binned, parse_time

    for text in (LONG, "9" * 4000, "9" * 19):
        with pytest.raises(InputError, match="is not a time"):
            parse_time(text)
    assert binned([parse_time("1700000000")], None).dtype == np.int64


def test_configurations_with_absurd_values(make):
    from spinney.cli.verbs import _config

    for text in (f"order = {LONG}\n", "a = " + "[" * 5000, "\ufeffa = 1\nb"):
        with pytest.raises(InputError, match="not TOML") as caught:
            _config(str(make(text, "c.toml")))
        assert "\n" not in str(caught.value)
    assert _config(str(make("\ufeffa = 1\r\n", "c.toml"))) == {"a": 1}


def test_groups_of_relations_with_absurd_values(make):
    from spinney.classes.recipes import _relation_groups

    for text in ("[" * 100_000, f'{{"a": {LONG}}}', '{"a": ["x"], "a": ["y"]}', "[]"):
        with pytest.raises(InputError):
            _relation_groups(str(make(text, "groups.json")))


def test_a_pattern_of_absurd_length():
    from spinney.tagging.patterns import parse_patterns

    with pytest.raises(InputError, match="is not a %suffix"):
        parse_patterns(f"U0:%suffix[0,0,{LONG}]")


def test_names_of_columns_in_trends(make):
    from spinney.trend.sources import Columns, read_dated

    how = SimpleNamespace(format="csv", encoding="utf-8", on_error="raise")
    with pytest.raises(OptionError, match="columns are numbers"):
        read_dated(str(make("a,b\n", "t.csv")), Columns(text=LONG, time="1", header=False), how, None)


def test_words_of_odd_spaces_are_words(make, tmp_path):
    from spinney.lm.arpa import read_arpa, write_arpa
    from spinney.lm.recipes import _given_vocabulary

    text = "\\data\\\nngram 1=3\n\n\\1-grams:\n-0.5\t\u2028\n-0.5\t</s>\n-0.5\t\xa0\n\n\\end\\\n"
    model = read_arpa(make(text, "odd.arpa"))
    assert set(model.vocabulary.words) == {"\u2028", "\xa0"}
    write_arpa(model, tmp_path / "again.arpa")
    assert set(read_arpa(tmp_path / "again.arpa").vocabulary.words) == {"\u2028", "\xa0"}
    listed = SimpleNamespace(vocabulary=str(make("a\xa0b \n\n\u2028\n")), closed=True, unknown=None)
    assert _given_vocabulary(listed).words == ("a\xa0b", "\u2028")


def test_damaged_archives(make):
    from spinney.tagging.g2p import read_cmudict

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cmudict/cmudict", b"ABACK  AH0 B AE1 K\n" * 20)
    whole = packed.getvalue()
    assert len(read_cmudict(make(whole, "cmudict.zip"))) == 20
    middle = bytearray(whole)
    middle[50] ^= 0xFF
    method = whole.replace(b"\x08\x00", b"\x63\x00")
    for text in (
        whole[: len(whole) // 2],
        whole.replace(b"PK\x01\x02", b"PK\x09\x02"),
        method,
        bytes(middle),
    ):
        with pytest.raises(InputError, match=r"cmudict.zip: not a valid .zip file"):
            read_cmudict(make(text, "cmudict.zip"))
