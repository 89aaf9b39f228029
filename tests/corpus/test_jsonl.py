"""JSON Lines through every task that reads documents or text."""

import gzip
import json

import pytest

from spinney.cli.main import run
from spinney.corpus import Document, ReadReport, read_table, read_text
from spinney.errors import InputError
from spinney.formats import FORMATS, guess_format

ROWS = [{"text": f"good film number {i}", "label": "pos", "stars": 5} for i in range(6)]
ROWS += [
    {"label": "neg", "text": f"dull \u2028 film number {i}", "stars": 1.5, "more": {"a": [1]}}
    for i in range(6)
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "reviews.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(ROWS)))
    return path


def test_documents(file):
    found = list(read_table(file, "text", "label", format="jsonl"))
    assert [(d.text, d.label) for d in found] == [(row["text"], row["label"]) for row in ROWS]
    assert found[7].id == "8"
    assert [d.label for d in read_table(file, "text", "stars", format="jsonl")] == ["5"] * 6 + ["1.5"] * 6


def test_values_become_text(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_text('{"text": ["a", "b"], "x": null, "y": true, "z": {"k": "é"}}\n\n')
    assert guess_format(path) == "jsonl"
    cells = [next(iter(read_table(path, name, format="jsonl"))).text for name in ("text", "x", "y", "z")]
    assert cells == ["a b", "", "true", '{"k": "é"}']


def test_text_of_documents(file, tmp_path):
    packed = tmp_path / "reviews.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    for path in (file, packed):
        arrays = read_text(path)
        assert arrays.vocabulary.counts[arrays.vocabulary["film"]] == 12


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", ":2: not JSON"),
        ("[1]", ":2: not a JSON object with fields"),
        ("{}", ":2: not a JSON object with fields"),
        ('{"text": "a"}', ":2: no field 'label', which the first object has"),
        ("[" * 100_000, ":2: not JSON"),
    ],
)
def test_bad_lines(tmp_path, line, error):
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{{"text": "a", "label": "b"}}\n{line}\n{{"text": "c", "label": "d"}}\n')
    with pytest.raises(InputError, match=r"bad\.jsonl") as caught:
        list(read_table(path, format="jsonl"))
    assert error in str(caught.value)
    report = ReadReport()
    assert list(read_table(path, label="label", format="jsonl", on_error="skip", report=report)) == [
        Document("a", "b", "1"),
        Document("c", "d", "3"),
    ]
    assert report.skipped == 1


def test_tasks_read_it(file, tmp_path, capsys):
    for task in (["classify", "fit"], ["lm", "fit"], ["classes", "fit", "--classes", "4"]):
        assert run([*task, str(file), "--model", str(tmp_path / "m"), "-q", "--json"]) == 0, (
            capsys.readouterr().err
        )
    assert json.loads(capsys.readouterr().out.splitlines()[0])["documents"] == 12


def test_every_reader_of_the_table_exists():
    from spinney.formats import reader

    for name, format in FORMATS.items():
        for what in format._fields[2:]:
            if getattr(format, what):
                assert callable(reader(name, what)), (name, what)
