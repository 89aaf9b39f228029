"""Files: compression, encodings, line ends, atomic writing, and every way a file can be broken."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import compressed as compressed_module
from spinney.corpus import open_bytes, open_text, read_lines, writing, writing_bytes
from spinney.corpus.lines import Block, read_blocks, read_stanza_blocks
from spinney.corpus.opening import writing_folder
from spinney.errors import InputError, OptionError

SUFFIXES = ["", ".gz", ".xz", ".bz2", ".zst"]
COMPRESS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
NOISE = np.random.default_rng(0).bytes
TEXT = "naïve\x85line\n\nlast, with a no-break\xa0space"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text_round_trip(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    with writing(path) as file:
        file.write(TEXT)
    with open_text(path) as file:
        assert file.read() == TEXT
    with open_bytes(path) as file:
        assert file.read() == TEXT.encode()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_files_of_the_usual_tools_are_read_and_ours_are_read_by_them(tmp_path, suffix):
    path = tmp_path / f"a{suffix.upper()}"
    path.write_bytes(COMPRESS[suffix](TEXT.encode()))
    assert "\n".join(line for _, line in read_lines(path)) == TEXT

    with open_text(path, "w") as file:
        file.write(TEXT)
    decompress = {
        ".gz": gzip.decompress,
        ".xz": lzma.decompress,
        ".bz2": bz2.decompress,
        ".zst": lambda data: zstandard.ZstdDecompressor().stream_reader(data).read(),
    }
    assert decompress[suffix](path.read_bytes()).decode() == TEXT


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_two_compressed_streams_end_to_end_are_one_text(make, suffix):
    path = make(COMPRESS[suffix](b"a\n") + COMPRESS[suffix](b"b\n"), f"two{suffix}")
    assert list(read_lines(path)) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_truncated_compressed_file(make, suffix):
    noise = NOISE(1000).hex().encode()
    path = make(COMPRESS[suffix](noise)[:-40], f"cut{suffix}")
    with pytest.raises(InputError, match=rf"cut{suffix}: the compressed file ends too early .*truncated"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_corrupt_compressed_file(make, suffix):
    path = make(b"this was never compressed at all, whatever its name says", f"plain{suffix}")
    with pytest.raises(InputError, match=rf"plain{suffix}: not a valid {suffix} file") as caught:
        open_bytes(path).read()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_corruption_in_the_middle(make, suffix):
    whole = bytearray(COMPRESS[suffix](NOISE(20_000).hex().encode()))
    middle = len(whole) // 2
    whole[middle : middle + 2000] = NOISE(2000)
    with pytest.raises(InputError, match=r"not a valid|too early"):
        list(read_lines(make(bytes(whole), f"bad{suffix}")))


def test_same_text_gives_the_same_gzip_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        with writing(tmp_path / name) as file:
            file.write(TEXT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_zst_without_the_package(make, monkeypatch):
    path = make(COMPRESS[".zst"](b"a\n"), "a.zst")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(OptionError, match=r"pip install 'spinney\[zst\]'"):
        list(read_lines(path))
    with pytest.raises(OptionError, match="zst"), writing(path) as file:
        file.write("a")
    assert path.exists()


def test_missing_file_folder_and_permission(tmp_path, make):
    with pytest.raises(InputError, match=r"^.*gone\.txt: no such file$"):
        open_text(tmp_path / "gone.txt")
    with pytest.raises(InputError, match=r"gone\.xz: no such file"):
        open_bytes(tmp_path / "gone.xz")
    with pytest.raises(InputError, match=r"is a folder \(give a file\)"):
        open_text(tmp_path)
    with pytest.raises(InputError, match="not a file name"):
        open_text("a\0b")
    path = make("a")
    path.chmod(0)
    if not os.access(path, os.R_OK):  # root reads everything
        with pytest.raises(InputError, match="permission denied"):
            open_text(path)


def test_bad_modes_and_encodings(make):
    path = make("a\n")
    with pytest.raises(OptionError, match="mode"):
        open_text(path, "a")
    with pytest.raises(OptionError, match="mode"):
        open_bytes(path, "x")
    for encoding in ("klingon", "rot13"):
        with pytest.raises(OptionError, match="unknown encoding"):
            open_text(path, encoding=encoding)
        with pytest.raises(OptionError, match="unknown encoding"):
            list(read_lines(path, encoding))


def test_bad_byte_names_file_line_and_remedy(make):
    path = make(b"good\nb\xe9d\n")
    message = f"{path}:2: not UTF-8 (try the encoding latin-1)"
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert str(caught.value) == message
    with pytest.raises(InputError) as caught:
        open_text(path).read()
    assert str(caught.value) == message
    assert list(read_lines(path, "latin-1")) == [(1, "good"), (2, "béd")]


def test_bad_byte_far_into_a_file(make):
    path = make(b"word word\n" * 100_000 + b"\xff\n" + b"word\n" * 1000)
    with pytest.raises(InputError, match=r":100001: not UTF-8"):
        list(read_lines(path))


def test_bad_byte_in_another_encoding(make):
    with pytest.raises(InputError, match=r":2: not CP1252 \(try the encoding utf-8\)"):
        list(read_lines(make(b"a\n\x81\n"), "cp1252"))
    with pytest.raises(InputError, match=r":3: not ASCII"):
        list(read_lines(make("a\nb\né\n"), "ascii"))
    lone_surrogate = "a\nb\n".encode("utf-16-le") + b"\x00\xd8" + "\nc\n".encode("utf-16-le")
    with pytest.raises(InputError, match=r":3: not UTF-16-LE"):
        list(read_lines(make(lone_surrogate), "utf-16-le"))
    with pytest.raises(InputError, match=r":2: not UTF-16-LE"):
        list(read_lines(make("a\nb".encode("utf-16-le") + b"x"), "utf-16-le"))


def test_nul_byte(make):
    path = make(b"a\nb\x00c\n")
    with pytest.raises(InputError, match=r":2: NUL byte .*utf-16"):
        list(read_lines(path))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "latin-1", "cp1252"]
)
def test_encodings(tmp_path, encoding):
    path = tmp_path / "a.txt.gz"
    with writing(path, encoding) as file:
        file.write("é\n\n£")
    assert list(read_lines(path, encoding)) == [(1, "é"), (2, ""), (3, "£")]


def test_unwritable_character(tmp_path):
    message = r"a.txt: '€' cannot be written as latin-1 \(use utf-8\)"
    with pytest.raises(InputError, match=message), writing(tmp_path / "a.txt", "latin-1") as file:
        file.write("€")
    assert not list(tmp_path.iterdir())


def test_line_ends_marks_and_odd_characters(make):
    path = make("\ufeffa\r\nb\x85\x0b\x0c\u2028c\r\n\r\n\ufeffd\re\r")
    lines = ["a", "b\x85\x0b\x0c\u2028c", "", "\ufeffd\re"]
    assert [line for _, line in read_lines(path)] == lines
    assert open_text(path).read().split("\n")[:3] == lines[:3]
    utf16 = make("a\r\nb".encode("utf-16"))
    assert list(read_lines(utf16, "utf-16")) == [(1, "a"), (2, "b")]


def test_empty_file(make):
    path = make("")
    assert list(read_lines(path)) == []
    assert open_text(path).read() == ""


def test_standard_streams(monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\xff\n")))
    with pytest.raises(InputError, match=r"^-:2: not UTF-8"):
        list(read_lines("-"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é\r\nf".encode())))
    with open_text("-") as file:
        assert list(file) == ["é\n", "f"]
    with writing("-") as file:
        file.write("text ")
    with writing_bytes("-") as file:
        file.write(b"bytes")
    assert capsysbinary.readouterr().out == b"text bytes"


def fail(failure):
    raise failure


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt.gz"
    with writing(path) as file:
        file.write("old")
    for failure in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(failure), writing(path) as file:
            print("new", file=file, end=fail(failure))
    assert open_text(path).read() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_new_file_takes_the_mode_of_the_old_and_goes_through_links(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with writing(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_devices_are_written_not_replaced():
    with writing("/dev/null") as file:
        file.write("nothing")
    assert not os.path.isfile("/dev/null")


def test_unwritable_places(tmp_path):
    message = r"its folder does not exist \(mkdir -p .*none\)"
    with pytest.raises(InputError, match=message), writing(tmp_path / "none" / "a.txt"):
        pass
    with pytest.raises(InputError, match="is a folder"), writing(tmp_path):
        pass


def test_no_space_left(tmp_path, monkeypatch):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")

    def full(path, ending):
        return open("/dev/full", "wb")

    monkeypatch.setattr("spinney.corpus.opening.compressor", full)
    with pytest.raises(InputError, match=r"a.txt: no space left"), writing_bytes(tmp_path / "a.txt") as file:
        file.write(b"x" * 100_000)


def test_folder_is_replaced_only_if_it_is_ours(tmp_path):
    target = tmp_path / "arrays"
    for content in ("one", "two"):
        with writing_folder(target, "marker") as folder:
            Path(folder, "marker").write_text(content)
    assert (target / "marker").read_text() == "two"
    with pytest.raises(RuntimeError), writing_folder(target, "marker"):
        raise RuntimeError
    assert (target / "marker").read_text() == "two"

    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="not written by Spinney"), writing_folder(precious, "marker"):
        pass
    assert (precious / "thesis.tex").exists()
    unreachable = writing_folder(tmp_path / "a" / "b", "marker")
    with pytest.raises(InputError, match="its folder does not exist"), unreachable:
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arrays", "precious"]


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]))))
def test_lines_are_those_between_line_ends(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    with writing(path) as file:
        file.writelines(line + "\n" for line in lines)
    expected = [line.removeprefix("\ufeff") if i == 0 else line for i, line in enumerate(lines)]
    assert [line for _, line in read_lines(path)] == expected


@given(
    text=st.text(st.sampled_from("ab \t\n"), max_size=60),
    size=st.integers(1, 7),
)
def test_blocks_of_any_size_hold_the_same_lines(tmp_path_factory, text, size):
    path = tmp_path_factory.mktemp("blocks") / "a.txt"
    path.write_text(text)
    expected = text if text.endswith("\n") or not text else text + "\n"
    read = compressed_module.read_chunks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spinney.corpus.lines.read_chunks", lambda path: read(path, size))
        for reader in (read_blocks, read_stanza_blocks):
            blocks = list(reader(path))
            assert b"".join(block.text for block in blocks).decode() == expected
            line = 1
            for block in blocks:
                assert block.line == line
                line += block.text.count(b"\n")
        # No stanza is cut: those of the blocks are those of the whole.
        stanzas = [stanza for block in read_stanza_blocks(path) for stanza in block.each_stanza()]
    assert [(s.line, s.text) for s in stanzas] == [
        (s.line, s.text) for s in Block(expected.encode(), 1).each_stanza()
    ]
    lines = expected.split("\n")
    for stanza in stanzas:
        n = stanza.text.count(b"\n")
        assert lines[stanza.line - 1 : stanza.line - 1 + n] == stanza.text.decode().split("\n")[:-1]
        assert all(line.strip() for line in lines[stanza.line - 1 : stanza.line - 1 + n])
        assert not lines[stanza.line - 1 + n].strip()
