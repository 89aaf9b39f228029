"""The scenes of ``spinney demo``, each printing what it did, leaving its model in a folder and returning its facts."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spinney.classify import TextModel
    from spinney.corpus import TokenArrays


class Tour:
    """A tour of Python's own manual and library; ``folder`` takes the models."""

    def __init__(self, folder: str, seed: int, talk: bool) -> None:
        from spinney.corpus import sample_documents

        self.folder, self.seed, self.talk = folder, seed, talk
        self.documents = sample_documents()
        paragraphs = [
            (paragraph, document.label)
            for document in self.documents
            for paragraph in document.text.split("\n\n")
            if len(paragraph.split()) >= 15
        ]
        self.texts = [paragraph for paragraph, _ in paragraphs]
        self.labels = [str(label) for _, label in paragraphs]
        # Every fifth paragraph is held out: no neighbour of it is lost to training.
        self.test = [i for i in range(len(self.texts)) if i % 5 == 4]
        self.train = [i for i in range(len(self.texts)) if i % 5 != 4]

    def place(self, name: str) -> str:
        """Where a file of the tour is."""
        return os.path.join(self.folder, name)

    def say(self, line: str) -> None:
        if self.talk:
            from spinney.report.tables import console

            console().print(line, soft_wrap=True)

    def heading(self, number: int, title: str) -> None:
        self.say(f"\n[bold]{number}. {title}[/bold]")

    def corpus(self) -> dict[str, Any]:
        words = sum(len(text.split()) for text in self.texts)
        self.heading(1, "A corpus that is always there")
        self.say(
            f"   Python's own manual: {len(self.documents)} topics, {len(self.texts):,} paragraphs, {words:,} words, "
            f"in {len(set(self.labels))} themes: {', '.join(sorted(set(self.labels)))}."
        )
        return {"documents": len(self.documents), "paragraphs": len(self.texts), "words": words}

    def classifier(self) -> dict[str, Any]:
        from spinney.classify import LinearClassifierCV, TextFeatures, TextModel
        from spinney.corpus import writing

        self.heading(2, "A sparse classifier: which theme is a paragraph from?")
        self.model = TextModel(LinearClassifierCV("l1", cv=3, n_lams=15), TextFeatures(min_count=2))
        self.model.fit([self.texts[i] for i in self.train], [self.labels[i] for i in self.train])
        self.model.save(self.place("classifier.spinney"))
        with writing(self.place("held-out.csv")) as file:
            rows = [[self.texts[i], self.labels[i]] for i in self.test]
            csv.writer(file, lineterminator="\n").writerows([["text", "label"], *rows])
        facts = self._scored(self.model)
        self.say(
            f"   The Lasso keeps {facts['active']:,} of {facts['parameters']:,} weights (λ by cross-validation) and is "
            f"right on {facts['accuracy']:.0%} of held-out paragraphs; always guessing the commonest theme, "
            f"{self._majority():.0%}."
        )
        self.say(
            f"   Certificate: no optimality condition is violated by more than {facts['violation']:.0e}."
        )
        if self.talk:
            from spinney.report.tables import show_words

            show_words(self.model.strongest(7))
        return {**facts, "strongest": self.model.strongest(7)}

    def word_families(self) -> dict[str, Any]:
        from spinney.classify import LinearClassifier, TextFeatures, TextModel, group_status
        from spinney.structure import Groups

        self.heading(3, "Structure in the penalty: word families stand or fall together")
        features = TextFeatures(min_count=2)
        X = features.fit_transform([self.texts[i] for i in self.train])
        families = sorted({name[:5] for name in features.names})
        place = {family: g for g, family in enumerate(families)}
        groups = Groups.from_labels([place[name[:5]] for name in features.names], names=families)
        model = TextModel(LinearClassifier("group", lam_ratio=0.1, groups=groups, tol=1e-4), features)
        model.fit_matrix(X, [self.labels[i] for i in self.train])
        status = group_status(model.coef, groups, model.names, model.outputs, top=len(groups))
        kept = [view.name for view in status.selected]
        facts = self._scored(model) | {"families": len(groups), "kept": len(kept)}
        self.say(
            f"   A group Lasso over {len(groups):,} families (words with the same first five letters) keeps "
            f"{len(kept)}; {facts['accuracy']:.0%} right."
        )
        for family in [family for family in kept if len(groups[place[family]]) > 2][:5]:
            words = [features.names[j] for j in groups[place[family]]]
            self.say(f"   [green]{family}-[/green]  {', '.join(words)}")
        return facts

    def phrases(self) -> dict[str, Any]:
        import numpy as np

        from spinney.classify import LinearClassifier, TextFeatures, TextModel
        from spinney.optim import TreeL2

        self.heading(4, "A tree norm: a phrase may enter only after its first word")
        features = TextFeatures(min_count=3, ngrams=2)
        X = features.fit_transform([self.texts[i] for i in self.train])
        place = {name: j for j, name in enumerate(features.names)}
        parent = np.array([place[name.split()[0]] if " " in name else -1 for name in features.names])
        labels = ["statements" if self.labels[i] == "statements" else "other" for i in self.train]
        model = TextModel(LinearClassifier(TreeL2(1.0, parent), lam_ratio=0.05, tol=1e-4), features)
        model.fit_matrix(X, labels)
        weights = model.coef[0]
        active = np.flatnonzero(weights)
        phrases = [j for j in active if parent[j] >= 0]
        orphans = sum(weights[parent[j]] == 0 for j in phrases)
        self.say(
            f"   {len(active)} of {len(weights):,} words and pairs are active; {len(phrases)} are pairs, and "
            f"{orphans} of these lack their first word. Weights for the theme statements:"
        )
        for j in sorted(phrases, key=lambda j: -abs(weights[j]))[:6]:
            self.say(
                f"   [green]{features.names[parent[j]]}[/green] → {features.names[j]}  {weights[j]:+.2f}"
            )
        return {"active": len(active), "pairs": len(phrases), "orphans": int(orphans)}

    def solvers(self) -> list[dict[str, Any]]:
        from spinney.classify import TextFeatures
        from spinney.optim import L1, LogisticLoss, lambda_max, solve

        self.heading(5, "One certificate for all solvers")
        X = TextFeatures(min_count=2).fit_transform(self.texts)
        loss = LogisticLoss(X, [1.0 if label == "objects" else -1.0 for label in self.labels])
        penalty = L1(0.05 * lambda_max(loss, L1(1.0)))
        rows = []
        for name in ("cd", "owlqn", "fista"):
            solution = solve(loss, penalty, name, tol=1e-4)
            rows.append(
                {
                    "solver": name,
                    "iterations": solution.n_iter,
                    "seconds": solution.seconds,
                    "objective": solution.objective,
                    "violation": solution.violation,
                    "active": int((solution.w[:-1] != 0).sum()),
                }
            )
        if self.talk:
            from spinney.report.tables import show_rows

            cells = [
                [
                    r["solver"],
                    r["iterations"],
                    f"{r['seconds']:.2f}",
                    f"{r['objective']:.4f}",
                    f"{r['violation']:.1e}",
                    r["active"],
                ]
                for r in rows
            ]
            show_rows("", ["solver", "iterations", "seconds", "objective", "violation", "active"], cells)
        return rows

    def tagger(self) -> dict[str, Any]:
        from spinney.corpus import sample_sentences
        from spinney.tagging import Tagger

        self.heading(6, "A tagger: where do words begin when the spaces are gone?")
        sentences = [[word.lower() for word in words if word.isalpha()] for words in sample_sentences()]
        sentences = [words for words in sentences if len(words) >= 5]
        letters = [[letter for word in words for letter in word] for words in sentences]
        labels = [["I" if i else "B" for word in words for i in range(len(word))] for words in sentences]
        spans = [(-1, 0), (-2, 0), (-3, 0), (-4, 0), (-1, 1), (-2, 1), (-3, 1), (-1, 2), (-2, 2), (-1, 3)]
        spans += [(0, 1), (0, 2), (0, 3), (0, 4), (-5, -1), (-4, -1), (-3, -1)]
        windows = [f"U{a}..{b}:" + "".join(f"%x[{o},0]" for o in range(a, b + 1)) for a, b in spans]
        train = [i for i in range(len(sentences)) if i % 5 != 4][:1200]
        test = [i for i in range(len(sentences)) if i % 5 == 4][:300]
        tagger = Tagger("\n".join([*windows, "B"]), penalty="elasticnet", lam=1.0, l2=0.1, tol=1e-2)
        tagger.fit([letters[i] for i in train], [labels[i] for i in train])
        tagger.save(self.place("letters.spinney"))
        accuracy = tagger.score([letters[i] for i in test], [labels[i] for i in test])
        facts = tagger.facts_
        self.say(
            f"   A conditional random field reads the letters of {len(train):,} sentences; the elastic net keeps "
            f"{facts['active']:,} of {facts['parameters']:,} weights, and {accuracy:.1%} of held-out letters are right:"
        )
        example = letters[test[3]]
        found = tagger.predict([example])[0]
        spaced = "".join(" " * (label == "B") + letter for letter, label in zip(example, found)).strip()
        self.say(f"   {''.join(example)}\n   [green]{spaced}[/green]")
        strongest = tagger.strongest(6)
        for label, meaning in (("B", "For a beginning"), ("I", "Against it")):
            seen = ", ".join(name.partition(":")[2] for name, _ in strongest[label])
            self.say(f"   {meaning}, most of all: {seen}")
        return {"accuracy": accuracy, "active": facts["active"], "parameters": facts["parameters"]}

    def word_classes(self) -> dict[str, Any]:
        from math import exp

        from spinney.classes import HiddenMarkov, brown, pair_counts
        from spinney.classes.views import class_views, frequent

        self.heading(7, "Word classes, learnt without a label")
        arrays = self._words(min_count=3)
        clusters = brown(pair_counts(arrays), arrays.vocabulary, 40, refine=5)
        model = HiddenMarkov(40, random_state=self.seed).fit(arrays, init=clusters.classes)
        model.facts["reading"] = {"lowercase": True}  # for those who try it on text
        model.save(self.place("classes.spinney"))
        self.say(
            f"   Brown clusters of {len(arrays.vocabulary):,} words begin a hidden Markov chain of 40 classes "
            f"(perplexity {exp(-model.facts['log_likelihood']):.0f}). Some of its classes:"
        )
        classes = model.word_classes()
        shown = [classes[word] for word in ("must", "called", "values", "returns", "x") if word in classes]
        for view in class_views(model, list(dict.fromkeys(shown)), 9):
            self.say(f"   [green]{view.named(9)}[/green]")
        near = frequent(model, model.word_vectors(), 10, "returns").neighbours("returns", 5, "hellinger")
        self.say(f"   Words that are used like returns: {', '.join(word for word, _ in near)}")
        return {
            "words": len(arrays.vocabulary),
            "classes": 40,
            "ami": clusters.ami,
            "log_likelihood": model.facts["log_likelihood"],
            "neighbours": [word for word, _ in near],
        }

    def word_vectors(self) -> dict[str, Any]:
        from spinney.embed import Embedding

        self.heading(8, "Eigenwords: vectors from the words around each word")
        arrays = self._words(min_count=5)
        model = Embedding("cca", 50, random_state=self.seed).fit(arrays)
        model.facts["reading"] = {"lowercase": True}
        model.save(self.place("vectors.spinney"))
        self.say(
            f"   Canonical correlation of {len(arrays.vocabulary):,} words and the five words on each side of them, "
            f"{model.facts['pairs']:,} pairs, gives each word 50 numbers."
        )
        vectors = model.word_vectors()
        near = {word: [other for other, _ in vectors.neighbours(word, 6)] for word in ("list", "exception")}
        for word, others in near.items():
            self.say(f"   [green]{word}[/green]  {', '.join(others)}")
        return {"words": len(arrays.vocabulary), "pairs": model.facts["pairs"], "neighbours": near}

    def structure_at_work(self) -> dict[str, Any]:
        from spinney.classes import brown, pair_counts
        from spinney.corpus import sentence_arrays
        from spinney.corpus.code_trees import sample_trees
        from spinney.corpus.sample_files import UNLABELLED, code_sentences, word_roles
        from spinney.tagging import Tagger

        self.heading(9, "The one idea: classes learnt without labels make a tagger of few labels better")
        statements = [rows for tree in sample_trees() if len(rows := word_roles(tree)) > 1]
        words = [[word for word, _ in rows] for rows in statements]
        roles = [[role for _, role in rows] for rows in statements]
        code = sentence_arrays(tokens for name in UNLABELLED for tokens in code_sentences(name))
        clusters = brown(pair_counts(code), code.vocabulary, 100)
        test = slice(4, None, 5)
        train = [i for i in range(len(statements)) if i % 5 != 4][:200]
        accuracy = {}
        for name, classes in (("alone", {}), ("with classes", {"brown": clusters.classes})):
            tagger = Tagger("pos", classes=classes, tol=1e-2)
            tagger.fit([words[i] for i in train], [roles[i] for i in train])
            accuracy[name] = tagger.score(words[test], roles[test])
        tagger.save(self.place("roles.spinney"))
        self.say(
            f"   What is each word of a Python statement, said without its signs: variable, method, option? From "
            f"{len(train)} labelled statements a tagger gets {accuracy['alone']:.1%} of other words right. With "
            f"100 Brown classes of {code.n_tokens:,} tokens of source that nobody has labelled: "
            f"[bold]{accuracy['with classes']:.1%}[/bold]."
        )
        say = words[test][7]
        told = " ".join(f"{word}[dim]/{role}[/dim]" for word, role in zip(say, tagger.predict([say])[0]))
        self.say(f"   [green]{told}[/green]")
        return {"tokens": code.n_tokens, "accuracy": accuracy}

    def sentences(self) -> dict[str, Any]:
        from spinney.classify import (
            LinearClassifier,
            TextFeatures,
            TextModel,
            combined,
            group_status,
            sentence_groups,
        )

        self.heading(10, "Sentences as groups: the words of a sentence stand or fall together")
        features = TextFeatures("counts", min_count=2)
        texts = [self.texts[i] for i in self.train]
        labels = ["statements" if self.labels[i] == "statements" else "other" for i in self.train]
        X = features.fit_transform(texts)
        groups = combined({"sentence": sentence_groups(texts, features)}).groups
        estimator = LinearClassifier("overlap", lam=0.03, l1=2.0, l2=1.0, groups=groups, tol=1e-4)
        model = TextModel(estimator, features).fit_matrix(X, labels)
        model.save(self.place("sentences.spinney"))
        status = group_status(model.coef, groups, model.names, model.outputs, top=3)
        self.say(
            f"   {len(groups):,} sentences overlap in {len(groups.members):,} places; {model.facts['active']:,} of "
            f"{X.shape[1]:,} words are left, and {status.n_removed:,} sentences are removed whole."
        )
        for view in status.selected[:2]:
            self.say(f"   [green]kept[/green]     {_cut(view.name)}")
        for view in status.removed[:2]:
            self.say(f"   [red]removed[/red]  {_cut(view.name)}")
        return {
            "groups": len(groups),
            "memberships": len(groups.members),
            "removed": status.n_removed,
            "active": model.facts["active"],
            "violation": model.facts["violation"],
        }

    def versions(self) -> dict[str, Any]:
        import re

        import numpy as np

        from spinney.report.terminal import sparkline
        from spinney.trend import Documents, FrequentWords, TimeSeriesTextModel, TrendModel

        self.heading(11, "Text over time: what the manual says of each version of Python")
        texts, minor = [], []
        for document in self.documents:
            for paragraph in document.text.split("\n\n"):
                found = re.search(r"version 3\.(\d+)", paragraph)
                if found:
                    texts.append(paragraph)
                    minor.append(int(found[1]))
        model = TrendModel(TimeSeriesTextModel("ridge-ts", lam=1.0), FrequentWords(min_count=4), every=3)
        model.fit(Documents(texts, times=np.array(minor) // 3))
        model.save(self.place("versions.spinney"))
        strands = [strand for strand in model.strongest(20)["(all)"] if strand.word.isalpha()]
        rows = [(strand.word, [float(value) for value in strand.values]) for strand in strands]
        rows.sort(key=lambda row: row[1][0] - row[1][-1])
        self.say(f"   {len(texts)} notes from 3.{min(minor)} to 3.{max(minor)}, three versions a step:")
        for word, values in [*rows[:3], *rows[-3:]]:
            self.say(f"   [green]{sparkline(values)}[/green]  {word}")
        return {"notes": len(texts), "series": dict(rows)}

    def language(self) -> dict[str, Any]:
        from spinney.corpus import sample_sentences, sentence_arrays
        from spinney.lm.loglinear import fit_loglinear
        from spinney.lm.smoothing import fit_ngram

        self.heading(12, "Language models: which word comes next?")
        sentences = [[word.lower() for word in words] for words in sample_sentences()]
        train = [words for i, words in enumerate(sentences) if i % 10 != 9]
        seen = {tuple(words) for words in train}  # the manual repeats itself
        test = [words for words in sentences[9::10] if tuple(words) not in seen]
        arrays = sentence_arrays(train, min_count=2, unknown="<unk>")
        counted = fit_ngram(arrays, "modified-kneser-ney", order=4)
        learnt = fit_loglinear(arrays, 4, lam=0.5, tol=1e-2, max_iter=50)
        learnt.facts["reading"] = {"lowercase": True}
        learnt.save(self.place("language.spinney"))
        perplexities = [model.perplexity(test).perplexity for model in (counted, learnt)]
        self.say(
            f"   Of {len(arrays.vocabulary):,} words, Kneser-Ney smoothing of counts hesitates between "
            f"{perplexities[0]:.1f} at each place of sentences it never saw (its perplexity); weights on a suffix trie "
            f"under a tree norm, {learnt.facts['active']:,} of them, between {perplexities[1]:.1f}. Drawn from these:"
        )
        drawn = learnt.sample(3, max_words=20, temperature=0.7, random_state=self.seed + 1)
        for words in drawn:
            self.say(f"   [green]{_escaped(_cut(' '.join(words)))}[/green]")
        context = ["is", "raised", "if"]
        following = learnt.next_words(context, 4)
        told = ", ".join(f"{word} {p:.0%}" for word, p in following)
        self.say(f"   After [green]{' '.join(context)}[/green]: {_escaped(told)}")
        return {
            "words": len(arrays.vocabulary),
            "perplexity": dict(zip(("mkn", "loglinear"), perplexities)),
            "active": learnt.facts["active"],
            "sentences": drawn,
            "next": following,
        }

    def syntax(self) -> dict[str, Any]:
        from spinney.corpus.code_trees import sample_trees
        from spinney.evaluate import parseval
        from spinney.parsing.parser import Parser
        from spinney.parsing.reading import describe_label
        from spinney.report.parse_trees import phrase_lines

        self.heading(13, "A parser: the grammar of Python, learnt from Python")
        trees = sample_trees()
        train = [tree for i, tree in enumerate(trees) if i % 5 != 4]
        test = trees[4::5][:300]
        plain = Parser("pcfg").fit(train)
        latent = Parser("clustering", states=8, seed=self.seed).fit(train)
        latent.save(self.place("parser.spinney"))
        tokens = [tree.leaves() for tree in test]
        found = {"pcfg": plain.parse(tokens), "clustering": latent.parse(tokens)}
        f1 = {name: parseval(test, guess).f1 for name, guess in found.items()}
        self.say(
            f"   {len(train):,} statements of Python's library, with the trees that Python gives them. From tokens "
            f"alone, the plain grammar of {len(plain.rules_.binary):,} rules finds the phrases of other statements "
            f"with an F1 of {f1['pcfg']:.0%}; with latent states, up to 8 a label by spectral clustering, "
            f"{f1['clustering']:.0%}. One that the plain grammar got wrong:"
        )
        told = [i for i, tree in enumerate(test) if found["clustering"][i] == tree != found["pcfg"][i]]
        example = max(told, key=lambda i: (len(tokens[i]) <= 14, len(tokens[i])), default=0)
        for label, words in phrase_lines(found["clustering"][example]):
            self.say(f"   [green]{label:18}[/green]{_escaped(_unescaped(words))}")
        states = describe_label(latent, "NAME", 8).states
        self.say("   The states of NAME; nobody told the parser of modules, methods or functions:")
        for state in states:
            words = ", ".join(share.name for share in state.typical_words)
            self.say(f"   {state.share:4.0%}  [green]{_escaped(words)}[/green]")
        return {
            "statements": len(train),
            "f1": f1,
            "tree": str(found["clustering"][example]),
            "states": [[share.name for share in state.typical_words] for state in states],
        }

    def _words(self, min_count: int) -> TokenArrays:
        """The manual without its punctuation, in lower case."""
        from spinney.corpus import sample_sentences, sentence_arrays

        sentences = ([word.lower() for word in words if word[0].isalpha()] for words in sample_sentences())
        return sentence_arrays(filter(None, sentences), min_count=min_count, unknown="<unk>")

    def _scored(self, model: TextModel) -> dict[str, Any]:
        truth = [self.labels[i] for i in self.test]
        predicted = model.predict([self.texts[i] for i in self.test])
        facts = model.facts
        return {
            "accuracy": sum(a == b for a, b in zip(truth, predicted)) / len(truth),
            "active": facts["active"],
            "parameters": facts["parameters"],
            "violation": facts["violation"],
        }

    def _majority(self) -> float:
        truth = [self.labels[i] for i in self.test]
        return max(truth.count(label) for label in set(truth)) / len(truth)


def _escaped(text: str) -> str:
    """Text in which brackets are no commands of the console."""
    from rich.markup import escape

    return escape(text)


def _unescaped(words: str) -> str:
    """Tokens with the brackets that trees cannot hold."""
    return words.replace("-LRB-", "(").replace("-RRB-", ")")


def _cut(text: str) -> str:
    return text if len(text) <= 90 else text[:89] + "…"
