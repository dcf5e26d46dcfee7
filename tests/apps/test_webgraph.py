"""From web pages to graphs: addresses, pages, selection, edges, words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.harness.nested import choose, inner_error, paired_difference, training_sets
from experiments.harness.webkb import linqs_collection
from palmette.apps.webgraph import (
    Collection,
    Site,
    Vocabulary,
    build_school,
    merge_edges,
    normal_url,
    page_learner,
    page_words,
    read_page,
)
from palmette.apps.webgraph.page import _PIECE, _pieces

HOME = "http://www.x.edu/a/home.html"


@pytest.mark.parametrize(
    "url",
    [
        "http://x.edu/a/b",
        "HTTP://WWW.X.EDU:80/A/B/",
        "http://x.edu/a//b/index.html",
        "http://x.edu/a/b/Index.htm#part",
        "../a/b/",
        "b",
        "/a/b",
        "//x.edu/a/b",
        " b/index.html ",
        "./c/../b",
    ],
)
def test_spellings_of_one_address(url):
    assert normal_url(url, HOME) == "x.edu/a/b"


def test_addresses_that_stay_apart():
    urls = [
        "http://x.edu/a",
        "http://x.edu:8080/a",
        "http://y.x.edu/a",
        "http://x.edu/a?q=1",
        "http://x.edu/a.html",
    ]
    assert len({normal_url(url) for url in urls}) == len(urls)
    assert normal_url("http://x.edu/%7Eann/") == normal_url("http://x.edu/~ann")


@pytest.mark.parametrize(
    "url", ["mailto:a@b.c", "javascript:go()", "news:comp.x", "", "http://[x/", "http://x:99999/"]
)
def test_what_is_no_address_of_a_page(url):
    assert normal_url(url) is None


@given(st.text(), st.text(max_size=20))
def test_any_text_is_a_page(html, url):
    page = read_page(html, url)
    assert all(link.url for link in page.links)


def links_of(html, url=HOME):
    return [link.url for link in read_page(html, url).links]


def test_links_of_all_kinds():
    html = """<!-- <a href="no.html"> --><A HREF=one.html>1</A><area href='two.html'><frame src="three.html">
    <a name=here>no</a><a
    href = "four.html"
    >4</a><img src=no.gif><a href="mailto:x@y">no</a>"""
    assert links_of(html) == [f"x.edu/a/{name}.html" for name in ("one", "two", "three", "four")]


def test_base_is_honoured():
    assert links_of('<base href="http://y.edu/b/"><a href="c.html">') == ["y.edu/b/c.html"]
    assert links_of("<base target=x><a href=c.html>") == ["x.edu/a/c.html"]


def test_words_and_where_they_stand():
    page = read_page(
        "<title>Ann's Home</title><style>h1 {no}</style><h1>Teaching <a href=c>CS 415</a></h1>"
        "I teach <a href=d>logic <b>and</b> sets</a>.<h2>Friends<p><a href=e>Bob<a href=f>Cid</a> and others",
        HOME,
    )
    assert page.title == ["ann", "s", "home"]
    assert page.headings == ["teaching", "cs", "000", "friends"]
    assert [link.anchor for link in page.links] == [["cs", "000"], ["logic", "and", "sets"], ["bob"], ["cid"]]
    assert [link.heading for link in page.links] == [["teaching", "cs", "000"]] * 2 + [["friends"]] * 2
    assert "no" not in page.text and page.text[-2:] == ["and", "others"]


# ---------------------------------------------------------------------------------------------- selection


def site(links, labels, urls=None):
    """A site whose page i links to the pages `links[i]`."""
    urls = urls or [f"http://x.edu/{i}.html" for i in range(len(labels))]
    htmls = ["".join(f"<a href='{urls[j]}'>to {j}</a>" for j in targets) for targets in links]
    return build_school("x", htmls, urls, labels)


def test_other_pages_need_three_links_to_kept_pages():
    # 3 lives by 0, 1, 2; 4 by 0, 1, 3; 5 has three links but one of them to 6, which has none: both go.
    links = [[], [], [], [0, 1, 2], [0, 1, 3], [0, 1, 6], [0]]
    school = site(links, ["student", "course", "faculty", "other", "other", "other", "other"])
    assert school.urls == [f"http://x.edu/{i}.html" for i in range(5)]
    assert school.counts["pages given"] == 7 and school.counts["pages kept"] == 5


def test_other_pages_may_hold_each_other():
    school = site([[], [0, 2, 3], [0, 1, 3], [0, 1, 2]], ["student", "other", "other", "other"])
    assert len(school.pages) == 4


def test_rows_go_by_address_not_by_class():
    urls = ["http://x.edu/d", "http://x.edu/b", "http://x.edu/a", "http://x.edu/c"]
    school = site([[1], [], [], [0]], ["course", "faculty", "student", "student"], urls)
    assert school.labels == ["student", "faculty", "student", "course"]
    assert school.links.tolist() == [[2, 3], [3, 1]]


def test_copies_of_an_address_are_dropped():
    urls = ["http://x.edu/a", "http://www.x.edu/a/", "http://x.edu/b"]
    htmls = ["short", "a longer page", "<a href=a>a</a>"]
    school = build_school("x", htmls, urls, ["other", "student", "course"])
    assert school.counts["copies of an address"] == 1 and school.urls == [urls[1], urls[2]]
    school = build_school("x", ["longer page", "page", "more"], urls, ["student", "student", "course"])
    assert school.urls == [urls[0], urls[2]]


def test_links_are_counted_and_links_to_itself_dropped():
    school = site([[0, 1, 1, 2], [0], []], ["student"] * 3)
    assert school.links.tolist() == [[0, 1], [0, 2], [1, 0]] and len(school.mentions) == 4
    assert school.counts["links to itself"] == 1 and school.counts["links"] == 5
    assert (school.counts["linked pairs"], school.counts["reciprocal pairs"]) == (2, 1)
    assert school.neighbours.tolist() == [[1, 2]]


def test_neighbours_have_no_kept_page_between_them():
    school = site([[3, 1, 2, 1], [], [], []], ["student"] * 4)
    assert school.neighbours.tolist() == [[1, 2], [1, 3]]


# -------------------------------------------------------------------------------------------------- edges


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5))),
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5))),
)
def test_edges_keep_every_link_and_its_direction(links, beside):
    links = np.array(links, dtype=np.int64).reshape(-1, 2)
    beside = {(min(pair), max(pair)) for pair in beside if pair[0] != pair[1]}
    neighbours = np.array(sorted(beside), dtype=np.int64).reshape(-1, 2)
    edges = merge_edges(6, links, neighbours, scale=False)
    found, near = set(), set()
    for (i, j), (one_way, both_ways, next_to) in zip(edges.pairs.tolist(), edges.features.tolist()):
        assert i != j and not (one_way and both_ways) and (one_way or both_ways or next_to)
        found |= {(i, j)} if one_way else {(i, j), (j, i)} if both_ways else set()
        near |= {(min(i, j), max(i, j))} if next_to else set()
    assert found == {(i, j) for i, j in links.tolist() if i != j} and near == beside
    assert len({frozenset(pair) for pair in edges.pairs.tolist()}) == len(edges.pairs)
    assert edges.counts["links to itself"] == sum(i == j for i, j in links.tolist())


def test_hubs_speak_softly():
    star = np.array([[0, j] for j in range(1, 10)])
    assert np.allclose(merge_edges(11, star).features[:, 0], 1 / 3)
    edges = merge_edges(11, np.vstack([star, [[9, 10]]]))
    assert np.allclose(edges.features[-1], [2**-0.5, 0.0]) and edges.features.shape == (10, 2)


# -------------------------------------------------------------------------------------------------- words


def test_unknown_kind_of_words():
    with pytest.raises(ValueError, match=r"kinds of words must be from 'text', .*, got 'colour'"):
        page_words(site([[]], ["course"]), ["text", "colour"])


def test_words_of_links_go_to_both_ends():
    school = site([[1], []], ["course", "student"])
    words = page_words(school, ["incoming", "outgoing"])
    assert words == [{"outgoing:to", "outgoing:0"}, {"incoming:to", "incoming:0"}]


def test_vocabulary_counts_pages():
    vocabulary = Vocabulary([{"a", "b"}, {"b", "c"}, {"b"}], min_count=2)
    assert vocabulary.names == ["b"]
    assert Vocabulary([{"a"}, set()], min_count=1).matrix([set(), {"a"}]).toarray().tolist() == [[0], [1]]


@pytest.mark.data
def test_real_school():
    from palmette.datasets import load_webkb_cmu

    data, classes = load_webkb_cmu("cornell"), {"course", "faculty", "project", "student"}
    labels = [label if label in classes else "other" for label in data.target]
    school = build_school("cornell", data.data, data.urls, labels)
    others = [i for i, label in enumerate(school.labels) if label == "other"]
    n_pages = len(school.pages)
    assert n_pages == 275 and school.counts["copies of an address"] == 3
    assert min(np.bincount(school.links[:, 0], minlength=n_pages)[others]) >= 3
    assert n_pages - len(others) >= sum(label != "other" for label in labels) - 1, "but for a copy"


# ------------------------------------------------------------------------------- schools left out in turn


def test_training_sets_serve_every_choice_and_every_test():
    schools = ("a", "b", "c", "d")
    sets = training_sets(schools)
    assert len(sets) == len(set(sets)) == 10
    for test in schools:
        rest = tuple(name for name in schools if name != test)
        assert rest in sets and all(tuple(n for n in rest if n != held) in sets for held in rest)


def test_the_test_school_chooses_nothing():
    schools = ("a", "b", "c", "d")
    keys = [(train, test) for train in training_sets(schools) for test in schools if test not in train]
    good = {key: 0.1 for key in keys}
    # Worse wherever "a" is seen or tested, hence never chosen but for the test on "a".
    bad = {(train, test): 0.05 if "a" not in (*train, test) else 0.9 for train, test in keys}
    found = {"good": good, "bad": bad}
    assert [choose(found, schools, test) for test in schools] == ["bad", "good", "good", "good"]
    assert np.isclose(inner_error(bad, schools, "a"), 0.05)


def test_paired_difference_of_a_model_to_itself():
    wrong = [np.arange(50) % 3 == 0, np.arange(20) % 2 == 0]
    found = paired_difference(wrong, wrong)
    assert (found.difference, found.low, found.high, found.ratio) == (0.0, 0.0, 0.0, 1.0)


def test_paired_difference_agrees_with_drawing_pages(rng):
    ours, theirs = rng.random(80) < 0.2, rng.random(80) < 0.3
    found = paired_difference([ours], [theirs])
    rows = rng.integers(80, size=(20000, 80))
    drawn = ours[rows].mean(axis=1) - theirs[rows].mean(axis=1)
    assert np.allclose([found.low, found.high], np.quantile(drawn, [0.025, 0.975]), atol=0.013)
    assert np.isclose(found.difference, ours.mean() - theirs.mean())


def test_words_of_the_test_school_make_no_columns():
    none = np.empty((0, 2), np.int64)
    sites = [Site(name, [{name, "both"}] * 2, ["course"] * 2, none, none) for name in ("x", "y")]
    rows = Collection(tuple(sites)).matrices(["x"])
    assert rows["x"].shape == rows["y"].shape == (2, 2) and rows["y"].sum() == 2


@pytest.mark.data
def test_real_linqs_collection():
    pages = linqs_collection()
    assert [len(site) for site in pages.sites] == [195, 187, 230, 265]
    assert pages.classes == ["course", "faculty", "project", "staff", "student"]
    for site in pages.sites:
        assert site.features.shape == (len(site.pairs), 2) and (site.pairs[:, 0] != site.pairs[:, 1]).all()


# -- bad input ---------------------------------------------------------------------------------------------------------


@given(st.text(alphabet="<>!-/ab= \n", max_size=40))
def test_comments_end_where_a_single_pattern_says(html):
    whole = [(piece.span(), piece.groups()) for piece in _PIECE.finditer(html)]
    assert [(piece.span(), piece.groups()) for piece in _pieces(html)] == whole


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: build_school("x", ["a", "b"], ["http://x/a"], ["course"]), "x: .* got 2 pages, 1 addr.* 1 labels"),
        (lambda: Collection(()).matrices(["y"]), "no school is called 'y'"),
        (lambda: page_learner("SVM", 1.0).fit(Collection(()), []), "no school to learn from"),
        (lambda: training_sets(["x", "y"]), "at least 3 schools, got 2"),
        (lambda: paired_difference([np.zeros(3, bool)], [np.zeros(4, bool)]), "school 0: .* got 3 and 4"),
        (lambda: paired_difference([np.zeros(0, bool)], [np.zeros(0, bool)]), "at least one"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_from_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
