"""The options of tagging on the command line."""

from __future__ import annotations

from palmette.apps.options import Option, page_name, readable


def _sizes(clusters: str) -> tuple[int, ...]:
    """Numbers of clusters, from their text."""
    sizes = clusters.split(",")
    if not all(size.strip().isdecimal() and int(size) > 0 for size in sizes):
        raise ValueError(f"--clusters takes numbers such as 64,256, got {clusters!r}")
    return tuple(map(int, sizes))


def _column_names(names: str) -> tuple[str, ...]:
    """Names of columns as the command line has them.

    >>> _column_names("word,pos,label")
    ('word', 'pos', 'label')
    """
    found = tuple(name.strip() for name in names.split(","))
    for name in found:
        if not name.isidentifier():
            raise ValueError(f"--columns takes names such as word,pos,label, got {names!r}: {name!r} is none")
    for name in ("word", "label"):
        if found.count(name) != 1:
            raise ValueError(
                f"--columns {names} must name one column {name!r}, the one that holds the {name} of a token"
            )
    return found


def _at_least_one(n: int) -> int:
    if n < 1:
        raise ValueError(f"--nbest must be at least 1, got {n}")
    return n


FEATURE_SETS = ("ner", "bio-ner", "chunking", "pos", "segmentation")  # known without importing them

_MARKS = (
    Option("unknown", "Label of tokens without annotation, such as ?.", metavar="MARK"),
    Option("one_of", "What separates possible labels, such as | in B-PER|B-ORG.", metavar="MARK"),
)

OPTIONS = {
    "train": (
        Option("algorithm", "The learner.", default="crf", choices=("crf", "ssvm", "perceptron")),
        Option("l2", "L2 penalty; 1 by default.", float),
        Option("l1", "L1 penalty, for sparse models; 0 by default.", float),
        Option("template", "Feature template (CRF++, Wapiti); a general one by default.", check=readable),
        Option("features", "Feature set by name, instead of a template.", choices=FEATURE_SETS),
        Option("columns", "With --features: names of the columns (word,pos,label); _ skips one.", metavar="NAME,NAME",
               check=_column_names),
        Option("edges", "With --features: features of label pairs too; so by default for the perceptron.", bool, False),
        Option("models", "Average so many perceptrons with other orders of the sentences.", int, 1, metavar="N"),
        Option("cut_size", "Train on random pieces with this mean number of tokens (5.5).", metavar="N|auto"),
        Option("group_lasso", "Penalty that drops whole groups of features.", float, metavar="WEIGHT"),
        Option("group_by", "With --group-lasso: definition of a group; template by default.",
               choices=("template", "attribute")),
        Option("order", "Weights for label pairs (1), or for triples too (2).", int, 1),
        Option("constrained", "Allow only label sequences that are valid spans.", bool, False),
        Option("label_column",
               "Column of the label, from 0; negative counts from the end. The last by default, in CoNLL-U UPOS.", int),
        *_MARKS,
        Option("encoding", "Learn spans in this encoding; predictions are in that of the data.",
               choices=("iob1", "iob2", "iobes", "bilou", "bmes", "bmes6")),
        Option("invalid", "What to do with labels that are not valid spans.", choices=("repair", "raise")),
        Option("clusters", "Learn word clusters as further columns (64,256).", metavar="N,N", check=_sizes),
        Option("cluster_text", "More text to learn clusters from, a sentence per line.", check=readable),
        Option("min_count", "Drop features that occur less often.", int),
        Option("n_hash", "Hash features to N columns, to save memory.", int, metavar="N", flag="--hash"),
        Option("prune", "Drop features whose weights are all 0.", bool, False),
    ),
    "predict": (
        Option("nbest", "Write the n best labellings of each sentence, with scores.", int, check=_at_least_one),
        Option("marginals", "Add a column with the probability of the predicted label.", bool, False),
    ),
    "evaluate": (
        Option("label_column", "Column of the true label, the last but one by default, in CoNLL-U column 3; not with "
               "--model.", int),
        *_MARKS,
        Option("report", "HTML page to write: scores, confusions, worst sentences.", check=page_name),
    ),
    "inspect": (
        Option("why", "Explain the labels of a file, a sentence or a token (from 1).",
               metavar="FILE[:SENTENCE[:TOKEN]]"),
        Option("against", "With --why: compare with this label, not the runner-up.", metavar="LABEL"),
        Option("against_truth", "With --why: compare wrong labels with the true ones.", bool, False),
    ),
}  # fmt: skip
