"""From web pages to graphs of pages: words, links and edges."""

from ramify.apps.webgraph.edges import Edges, merge_edges
from ramify.apps.webgraph.learners import FittedPages, PageLearner, page_learner
from ramify.apps.webgraph.nested import Difference, choose, inner_error, paired_difference, training_sets
from ramify.apps.webgraph.page import Link, Page, read_page
from ramify.apps.webgraph.school import School, build_school
from ramify.apps.webgraph.sites import (
    PAPER_WORDS,
    RICH_WORDS,
    Collection,
    Site,
    linqs_collection,
    load_schools,
    page_collection,
)
from ramify.apps.webgraph.urls import normal_url
from ramify.apps.webgraph.words import Vocabulary, page_words

__all__ = [
    "PAPER_WORDS",
    "RICH_WORDS",
    "Collection",
    "Difference",
    "Edges",
    "FittedPages",
    "Link",
    "Page",
    "PageLearner",
    "School",
    "Site",
    "Vocabulary",
    "build_school",
    "choose",
    "inner_error",
    "linqs_collection",
    "load_schools",
    "merge_edges",
    "normal_url",
    "page_collection",
    "page_learner",
    "page_words",
    "paired_difference",
    "read_page",
    "training_sets",
]
