"""Default templates: a general one, and that of CRFsuite's chunking benchmark."""

from __future__ import annotations

_WORDS = r"""
# Words around the token, and pairs of neighbours
U00:%x[-2,WORD]
U01:%x[-1,WORD]
U02:%x[0,WORD]
U03:%x[1,WORD]
U04:%x[2,WORD]
U05:%x[-1,WORD]/%x[0,WORD]
U06:%x[0,WORD]/%x[1,WORD]
"""

_SPELLING = r"""
# The word in lower case; how it begins and ends
U10:%X[0,WORD]
U11:%p[0,WORD,1]
U12:%p[0,WORD,2]
U13:%p[0,WORD,3]
U14:%p[0,WORD,4]
U15:%S[0,WORD,1]
U16:%S[0,WORD,2]
U17:%S[0,WORD,3]
U18:%S[0,WORD,4]

# Neighbours in lower case, and how they end
U20:%X[-1,WORD]
U21:%X[1,WORD]
U22:%S[-1,WORD,2]
U23:%S[1,WORD,2]
U24:%S[-1,WORD,3]
U25:%S[1,WORD,3]

# What it and its neighbours look like: first capital, later capital, small letter, digit, hyphen, punctuation
U30:%t[0,WORD,"^\u"]/%t[0,WORD,".\u"]/%t[0,WORD,"\l"]/%t[0,WORD,"\d"]/%t[0,WORD,"-"]/%t[0,WORD,"\p"]
U31:%t[-1,WORD,"^\u"]/%t[-1,WORD,".\u"]/%t[-1,WORD,"\l"]/%t[-1,WORD,"\d"]/%t[-1,WORD,"-"]/%t[-1,WORD,"\p"]
U32:%t[1,WORD,"^\u"]/%t[1,WORD,".\u"]/%t[1,WORD,"\l"]/%t[1,WORD,"\d"]/%t[1,WORD,"-"]/%t[1,WORD,"\p"]
"""

_TAGS = r"""
# Tags (the second column) around the token, pairs and triples of neighbours
U40:%x[-2,TAG]
U41:%x[-1,TAG]
U42:%x[0,TAG]
U43:%x[1,TAG]
U44:%x[2,TAG]
U45:%x[-2,TAG]/%x[-1,TAG]
U46:%x[-1,TAG]/%x[0,TAG]
U47:%x[0,TAG]/%x[1,TAG]
U48:%x[1,TAG]/%x[2,TAG]
U49:%x[-2,TAG]/%x[-1,TAG]/%x[0,TAG]
U50:%x[-1,TAG]/%x[0,TAG]/%x[1,TAG]
U51:%x[0,TAG]/%x[1,TAG]/%x[2,TAG]
"""

_WORD_AND_TAG = r"""
# A word with its tag
U55:%x[0,WORD]/%x[0,TAG]
"""

_FURTHER_COLUMN = r"""
# Column OTHER
U60-OTHER:%x[-1,OTHER]
U61-OTHER:%x[0,OTHER]
U62-OTHER:%x[1,OTHER]
U63-OTHER:%x[-1,OTHER]/%x[0,OTHER]
U64-OTHER:%x[0,OTHER]/%x[1,OTHER]
"""

_CLUSTERS = r"""
# Word clusters, column OTHER
U70-OTHER:%x[-1,OTHER]
U71-OTHER:%x[0,OTHER]
U72-OTHER:%x[1,OTHER]
U73-OTHER:%x[-1,OTHER]/%x[0,OTHER]
U74-OTHER:%x[0,OTHER]/%x[1,OTHER]
"""

_CLUSTERS_AND_TAGS = r"""
U75-OTHER:%x[-1,OTHER]/%x[0,TAG]
U76-OTHER:%x[0,OTHER]/%x[0,TAG]
U77-OTHER:%x[0,OTHER]/%x[1,TAG]
"""

_TRANSITIONS = """
# Label transitions
B
"""

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
    text = _numbered(_WORDS + _SPELLING, WORD=word)
    if others:
        text += _numbered(_TAGS + _WORD_AND_TAG, WORD=word, TAG=others[0])
    for other in others[1:]:
        text += _numbered(_FURTHER_COLUMN, OTHER=other)
    for other in range(n_columns, n_columns + n_clusters):
        text += _numbered(_CLUSTERS, OTHER=other)
        if others:
            text += _numbered(_CLUSTERS_AND_TAGS, OTHER=other, TAG=others[0])
    return text.lstrip() + _TRANSITIONS


def crfsuite_chunking_template() -> str:
    """Return the 19 templates of CRFsuite's CoNLL-2000 benchmark.

    Words are in column 0, part-of-speech tags in column 1. The training part has 452,610 pairs of an
    attribute and a label seen with it.

    Examples
    --------
    >>> crfsuite_chunking_template().count("U")
    19
    """
    return _SKIP + _numbered(_WORDS + _TAGS, WORD=0, TAG=1) + _TRANSITIONS


def _numbered(text: str, **columns: int) -> str:
    for name, column in columns.items():
        text = text.replace(name, str(column))
    return text
