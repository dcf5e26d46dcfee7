"""Default templates: a general one, and that of CRFsuite's chunking benchmark."""

from __future__ import annotations

from collections.abc import Iterable

from palmette.features.template_lines import affixes, cells, grams

_LOOKS = (r"^\u", r".\u", r"\l", r"\d", "-", r"\p")
_TRANSITIONS = "\n# Label transitions\nB\n"
_SKIP = "#! boundary = skip\n"


def default_template(
    n_columns: int, label_column: int = -1, *, conllu: bool = False, n_clusters: int = 0
) -> str:
    """Return the text of a template that suits most tagging tasks.

    Words, their spelling and their neighbours from the first column; the classic chunking set from the
    second, if there is one beside the label; neighbouring values of each further column. In CoNLL-U the word
    is column 1, and the others are not read, because most of them are annotated together with the label.

    Parameters
    ----------
    n_columns : int
        Columns of the data, the label included.
    label_column : int, default=-1
        Index of the label among them.
    conllu : bool, default=False
        Whether the data is CoNLL-U.
    n_clusters : int, default=0
        Further columns, behind the others, that hold word clusters.

    Returns
    -------
    str
        To be read by `palmette.apps.tagging.templates.Template.parse`.

    Raises
    ------
    ValueError
        There is no column beside the label, or no column where the label should be.

    Examples
    --------
    >>> "%x[0,1]" in default_template(2), "%x[0,1]" in default_template(3)
    (False, True)
    """
    if n_columns < 2:
        raise ValueError(f"n_columns={n_columns}: a template needs a column of words beside the label")
    if not -n_columns <= label_column < n_columns:
        raise ValueError(
            f"label_column={label_column}: the columns are 0 to {n_columns - 1}, or -1 for the last"
        )
    label = label_column % n_columns
    word, *others = [1] if conllu else [c for c in range(n_columns) if c != label]
    text = _words(word) + _spelling(word)
    if others:
        text += _tags(others[0])
        text += _section(
            "# A word with its tag\n", 55, [f"{cells(0, column=word)}/{cells(0, column=others[0])}"]
        )
    for other in others[1:]:
        text += _section(f"# Column {other}\n", 60, grams(other, (1, 2), reach=1), f"-{other}")
    for other in range(n_columns, n_columns + n_clusters):
        title = f"# Word clusters, column {other}\n"
        text += _section(title, 70, grams(other, (1, 2), reach=1), f"-{other}")
        if others:
            near = ((-1, 0), (0, 0), (0, 1))  # rows of the cluster and of the tag
            pairs = [f"{cells(row, column=other)}/{cells(tag, column=others[0])}" for row, tag in near]
            text += _section("", 75, pairs, f"-{other}")
    names = {label: "label", word: "word"} | ({others[0]: "tag"} if others else {})
    names |= {n_columns + k: f"clusters{k + 1}" for k in range(n_clusters)}
    shown = " ".join(names.get(k, f"col{k}") for k in range(n_columns + n_clusters))
    return f"#! columns = {shown}\n{text.lstrip()}{_TRANSITIONS}"


def crfsuite_chunking_template() -> str:
    """Return the 19 templates of CRFsuite's CoNLL-2000 benchmark.

    Words are in column 0, part-of-speech tags in column 1. The training part has 452,610 pairs of an
    attribute and a label seen with it.

    Examples
    --------
    >>> crfsuite_chunking_template().count("U")
    19
    """
    return _SKIP + "#! columns = word tag\n" + _words(0) + _tags(1) + _TRANSITIONS


def _words(column: int) -> str:
    features = [*grams(column), *grams(column, (2,), reach=1)]
    return _section("# Words around the token, and pairs of neighbours\n", 0, features)


def _spelling(column: int) -> str:
    lower = [cells(row, column=column, macro="X") for row in (0, -1, 1)]
    own = [lower[0], *affixes("p", (1, 2, 3, 4), column=column), *affixes("S", (1, 2, 3, 4), column=column)]
    ends = [end for size in (2, 3) for row in (-1, 1) for end in affixes("S", (size,), row, column)]
    looks = [
        "/".join(cells(row, column=column, macro="t", argument=f',"{look}"') for look in _LOOKS)
        for row in (0, -1, 1)
    ]
    return (
        _section("# The word in lower case; how it begins and ends\n", 10, own)
        + _section("# Neighbours in lower case, and how they end\n", 20, [*lower[1:], *ends])
        + _section(
            "# What it and its neighbours look like: first capital, later capital, small letter, digit, hyphen, "
            "punctuation\n",
            30,
            looks,
        )
    )


def _tags(column: int) -> str:
    title = "# Tags (the second column) around the token, pairs and triples of neighbours\n"
    return _section(title, 40, grams(column, (1, 2, 3)))


def _section(title: str, first: int, features: Iterable[str], mark: str = "") -> str:
    """Lines that are numbered from `first` on, after a blank line and their title."""
    lines = [f"U{number:02}{mark}:{feature}\n" for number, feature in enumerate(features, first)]
    return "".join(["\n", title, *lines])
