"""Text in, arrays inside: readers and writers, vocabularies, flat arrays.

Every reader is an iterator over sentences or documents, takes ``encoding=`` and ``on_error="raise" |
"skip"``, and says file and line when something is wrong. :func:`read_arrays` is the fast way from large
files to numbers.
"""

from spinney.corpus.arrays import Labels, TokenArrays
from spinney.corpus.brackets import Tree, read_trees, write_trees
from spinney.corpus.building import read_arrays, sentence_arrays
from spinney.corpus.columns import read_columns, write_columns
from spinney.corpus.compressed import open_bytes
from spinney.corpus.conllu import Sentence, read_conllu, write_conllu
from spinney.corpus.crfsuite import read_crfsuite
from spinney.corpus.dependencies import parse_dependencies
from spinney.corpus.documents import Document, read_folder, read_table
from spinney.corpus.lines import ReadReport, read_lines
from spinney.corpus.ngrams import NgramCounts, read_ngrams
from spinney.corpus.opening import open_text, writing, writing_bytes
from spinney.corpus.raw import read_prose, read_tokenized, split_sentences, tokenize, tokenized_sentences
from spinney.corpus.reading import read_text
from spinney.corpus.sample import sample_documents, sample_sentences
from spinney.corpus.svmlight import read_svmlight
from spinney.corpus.vocabulary import Vocabulary

__all__ = [
    "Document",
    "Labels",
    "NgramCounts",
    "ReadReport",
    "Sentence",
    "TokenArrays",
    "Tree",
    "Vocabulary",
    "open_bytes",
    "open_text",
    "parse_dependencies",
    "read_arrays",
    "read_columns",
    "read_conllu",
    "read_crfsuite",
    "read_folder",
    "read_lines",
    "read_ngrams",
    "read_prose",
    "read_svmlight",
    "read_table",
    "read_text",
    "read_tokenized",
    "read_trees",
    "sample_documents",
    "sample_sentences",
    "sentence_arrays",
    "split_sentences",
    "tokenize",
    "tokenized_sentences",
    "write_columns",
    "write_conllu",
    "write_trees",
    "writing",
    "writing_bytes",
]
