"""Made-up sentences for models of other programs."""

DETERMINERS, NOUNS, VERBS = ["the", "a", "every"], ["dog", "cat", "fox", "tree"], ["sees", "likes", "barks"]
ADJECTIVES, NAMES, ENDS = ["red", "old"], ["Ada", "Zoë"], [".", "!", "1/2"]
LABELS = ["B-NP", "I-NP", "O"]


def sentences(rng, n, noise=0.0):
    """Rows of word, part of speech and label; a share of the labels is random, so that models are not sure."""
    return [_sentence(rng, noise) for _ in range(n)]


def _sentence(rng, noise):
    rows = [*_phrase(rng), [rng.choice(VERBS), "VB", "O"]]
    rows += _phrase(rng) if rng.random() < 0.6 else []
    rows.append([rng.choice(ENDS), ".", "O"])
    return [[word, tag, rng.choice(LABELS) if rng.random() < noise else label] for word, tag, label in rows]


def _phrase(rng):
    if rng.random() < 0.3:
        return [[rng.choice(NAMES), "NN", "B-NP"]]
    more = [[rng.choice(ADJECTIVES), "JJ", "I-NP"]] if rng.random() < 0.5 else []
    return [[rng.choice(DETERMINERS), "DT", "B-NP"], *more, [rng.choice(NOUNS), "NN", "I-NP"]]


def features(sentence):
    """Features of all shapes."""
    return [
        {
            "w": word,
            "tag": {"name": tag},
            "upper": word[0].isupper(),
            "length": len(word) / 4,
            "ends": [word[-1:], word[-2:]],
        }
        for word, tag, *_ in sentence
    ]
