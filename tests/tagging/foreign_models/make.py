"""Make the models in this folder with the programs themselves, and record how these label other sentences."""

import json
import random
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "helpers"))

PATTERNS = """u00:%x[-1,0]
U01:%x[0,0]
U02:%x[-1,0]/%x[0,0]
U03:%x[0,1]
U04:%x[-6,0]
U05:%X[0,0]
U06:%t[0,0,"^\\u"]
U07:%m[1,0,"..$"]
U08:%t[-1,0,"^\\u"]
*09:%x[1,1]
B10:%x[0,1]
B
"""
TEMPLATES = ["U00:%x[-2,0]", "U01:%x[0,0]", "U02:%x[-1,0]/%x[0,1]", "B01:%x[0,1]", "B"]


def crfsuite(train, test):
    import pycrfsuite
    from foreign_sentences import features

    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.02, "c2": 0.01, "max_iterations": 50})
    for sentence in train:
        trainer.append(features(sentence), [row[2] for row in sentence])
    trainer.train(str(HERE / "small.crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(HERE / "small.crfsuite"))
    found = []
    for sentence in test:
        tagger.set(features(sentence))
        chances = [{y: tagger.marginal(y, i) for y in tagger.labels()} for i in range(len(sentence))]
        found.append([tagger.tag(), chances])
    return found


def of_wapiti(train, test):
    import wapiti

    model = wapiti.Model(patterns=PATTERNS, maxiter=12, nthread=1, rho1=0.2, rho2=0.01)
    for sentence in train:
        model.add_training_sequence("\n".join(" ".join(row) for row in sentence))
    model.train()
    model.save(str(HERE / "small.wapiti"))
    return [
        model.label_sequence("\n".join(" ".join(row[:2]) for row in sentence)).decode().split()
        for sentence in test
    ]


def crfpp(train, test, rng):
    """There is no program to train with: the weights are drawn, and the file is written here."""
    import pycrfpp

    labels = ["B-NP", "I-NP", "O"]
    seen = sorted(set().union(*map(_observations, train)))
    first, weights = {}, []
    for text in seen:
        first[text] = len(weights)
        weights += [round(rng.gauss(0, 1), 2) for _ in range(9 if text[0] == "B" else 3)]
    (HERE / "small.crfpp").write_bytes(_binary(labels, first, weights))
    blocks = [
        ["version: 100", "cost-factor: 1", f"maxid: {len(weights)}", "xsize: 2"],
        labels,
        TEMPLATES,
        [f"{place} {text}" for text, place in first.items()],
        [f"{weight:.16f}" for weight in weights],
    ]
    (HERE / "small.crfpp.txt").write_text("\n\n".join("\n".join(block) for block in blocks) + "\n")
    tagger = pycrfpp.Tagger(f"-m {HERE / 'small.crfpp'} -v 2")
    found = []
    for sentence in test:
        tagger.clear()
        for row in sentence:
            tagger.add(" ".join(row[:2]))
        tagger.parse()
        chances = [{tagger.yname(j): tagger.prob(i, j) for j in range(3)} for i in range(len(sentence))]
        found.append([[tagger.y2(i) for i in range(tagger.size())], chances])
    return found


def _observations(sentence):
    found = set()

    def at(i):
        if 0 <= i < len(sentence):
            return sentence[i]
        return [f"_B{i}" if i < 0 else f"_B+{i - len(sentence) + 1}"] * 3

    for i in range(len(sentence)):
        found |= {
            f"U00:{at(i - 2)[0]}",
            f"U01:{at(i)[0]}",
            f"U02:{at(i - 1)[0]}/{at(i)[1]}",
            f"B01:{at(i)[1]}",
            "B",
        }
    return found


def _binary(labels, first, weights):
    units = double_array({text.encode(): place for text, place in first.items()})
    trie = b"".join(struct.pack("<iI", *unit) for unit in units)
    names = b"".join(label.encode() + b"\0" for label in labels)
    templates = b"".join(template.encode() + b"\0" for template in TEMPLATES)
    templates += bytes(-(len(names) + len(templates)) % 4)
    header = struct.pack("<IidIII", 100, 0, 1.0, len(weights), 2, len(trie))
    texts = struct.pack("<I", len(names)) + names + struct.pack("<I", len(templates)) + templates
    return header + texts + trie + struct.pack(f"<{len(weights)}f", *weights)


def double_array(keys):
    """The units (base, check) of a double-array trie."""
    base, check, used, bases = {}, {}, {0}, set()
    waiting = [(0, list(keys), 0)]
    while waiting:
        node, some, depth = waiting.pop()
        children = {}
        for key in some:
            children.setdefault(-1 if len(key) == depth else key[depth], []).append(key)
        here = 1
        while here in bases or any(here + sign + 1 in used for sign in children):
            here += 1
        bases.add(here)
        base[node] = here
        for sign, under in children.items():
            child = here + sign + 1
            used.add(child)
            check[child] = here
            if sign < 0:
                base[child] = -keys[under[0]] - 1
            else:
                waiting.append((child, under, depth + 1))
    return [(base.get(i, 0), check.get(i, 0)) for i in range(max(used) + 258)]


if __name__ == "__main__":
    from foreign_sentences import sentences

    rng = random.Random(7)
    train, test = sentences(rng, 25, noise=0.2), sentences(rng, 12)
    found = {
        "crfsuite": crfsuite(train, test),
        "wapiti": of_wapiti(train, test),
        "crfpp": crfpp(train, test, rng),
    }
    record = {"sentences": test, **found}
    (HERE / "labels.json").write_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
