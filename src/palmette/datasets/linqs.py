"""Web pages as words and links, one graph per university."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from palmette.datasets import splits, store
from palmette.datasets.registry import get_dataset

SCHOOLS = ("cornell", "texas", "washington", "wisconsin")


class School(NamedTuple):
    """The pages of a university: addresses, words, classes and links (row of the source, row of the target)."""

    urls: list[str]
    words: sparse.csr_matrix
    labels: list[str]
    links: np.ndarray


def load_webkb_linqs(
    subset: str | Iterable[str] = "all", return_X_y: bool = False
) -> Bunch | tuple[list[sparse.csr_matrix], list[list[str]]]:
    """Load the web pages of four universities as processed by the LINQS group.

    877 pages with 1,703 binary words and 1,608 links, of which 92 go from a page to itself. Where the data is taken
    from see :func:`palmette.datasets.where`. The files name two pages a link; the first is the one linked to by the
    convention of the group (nothing in the files proves it).

    Parameters
    ----------
    subset : {"all", "cornell", "texas", "washington", "wisconsin"} or iterable of schools, default="all"
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of scipy CSR matrices, shape (n_pages, 1703)
            Of each school, 1.0 where a page has a word.
        target : list of list of str
            ``"course"``, ``"faculty"``, ``"project"``, ``"staff"`` or ``"student"``.
        links : list of ndarray of int64, shape (n_links, 2)
            As published: from the row of a page to that of another or of itself, each link once.
        schools : list of str
        urls : list of list of str
        target_names : list of str
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_webkb_linqs
    >>> school = load_webkb_linqs("texas")  # doctest: +SKIP
    >>> school.data[0].shape, school.links[0].shape  # doctest: +SKIP
    ((187, 1703), (328, 2))
    """
    chosen = splits.chosen(subset, SCHOOLS, "school", ", ".join(SCHOOLS))
    names = [f"{school}.{kind}" for school in chosen for kind in ("content", "cites")]
    contents = store.read("webkb-linqs", names)
    schools = [parse(contents[f"{school}.content"], contents[f"{school}.cites"]) for school in chosen]
    data, target = [school.words for school in schools], [school.labels for school in schools]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        links=[school.links for school in schools],
        schools=list(chosen),
        urls=[school.urls for school in schools],
        target_names=sorted({label for labels in target for label in labels}),
        DESCR=get_dataset("webkb-linqs").DESCR,
    )


def parse(content: bytes, cites: bytes) -> School:
    """Read the two files of a school.

    >>> school = parse(b"u\\t0\\t1\\tcourse\\nv\\t1\\t1\\tstaff\\n", b"u v\\n")
    >>> school.urls, school.words.toarray(), school.labels, school.links
    (['u', 'v'], array([[0., 1.],
           [1., 1.]]), ['course', 'staff'], array([[1, 0]]))
    """
    rows = [line.split("\t") for line in content.decode("utf-8").splitlines()]
    urls = [row[0] for row in rows]
    number = {url: i for i, url in enumerate(urls)}
    pairs = [line.split() for line in cites.decode("utf-8").splitlines()]
    links = np.array([[number[citing], number[cited]] for cited, citing in pairs], dtype=np.int64)
    words = np.array([row[1:-1] for row in rows], dtype=np.float64)
    return School(urls, sparse.csr_matrix(words), [row[-1] for row in rows], links.reshape(-1, 2))
