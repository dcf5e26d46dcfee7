"""Web pages of computer science departments."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import store, webkb_format
from palmette.datasets.registry import get_dataset
from palmette.datasets.splits import chosen

SCHOOLS = ("cornell", "texas", "washington", "wisconsin", "misc")


def load_webkb_cmu(
    subset: str | Iterable[str] = "all", return_X_y: bool = False
) -> Bunch | tuple[list[str], list[str]]:
    """Load the raw web pages of the WebKB project of Carnegie Mellon University.

    8,282 pages of 1997 by class; links have to be found in the pages (:mod:`palmette.apps.webgraph`). Where the data is
    taken from see :func:`palmette.datasets.where`; what is compared with the checksum is the canonical file of
    :mod:`palmette.datasets.webkb_format`.

    Parameters
    ----------
    subset : {"all", "cornell", "texas", "washington", "wisconsin", "misc"} or iterable of schools, default="all"
        ``misc`` has the pages of all other universities.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of str
            What stands after the headers of the protocol, HTML as a rule.
        target : list of str
            ``"course"``, ``"department"``, ``"faculty"``, ``"other"``, ``"project"``, ``"staff"`` or ``"student"``.
        schools : ndarray of str, shape (n_pages,)
        urls : list of str
        target_names : list of str
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_webkb_cmu
    >>> pages = load_webkb_cmu(["cornell", "texas"])  # doctest: +SKIP
    >>> len(pages.data)  # doctest: +SKIP
    1694
    """
    schools = chosen(subset, SCHOOLS, "school", ", ".join(SCHOOLS))
    pages = [
        page
        for page in webkb_format.parse(store.read("webkb-cmu", ["pages"])["pages"])
        if page.school in schools
    ]
    data, target = [body(page.content) for page in pages], [page.label for page in pages]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        schools=np.array([page.school for page in pages]),
        urls=[page.url for page in pages],
        target_names=sorted(set(target)),
        DESCR=get_dataset("webkb-cmu").DESCR,
    )


def body(content: bytes) -> str:
    """What stands after the headers, in Latin-1; all of it if it begins with no header.

    >>> body(b"Date: today\\r\\n\\r\\n<p>Text"), body(b"<p>Text\\n\\nmore")
    ('<p>Text', '<p>Text\\n\\nmore')
    """
    text = content.decode("latin-1").replace("\r\n", "\n")
    head, blank, rest = text.partition("\n\n")
    return rest if blank and not head.lstrip().startswith("<") else text
