"""From web pages to graphs of pages: words, links and edges."""

from palmette.apps.webgraph.edges import Edges, merge_edges
from palmette.apps.webgraph.learners import FittedPages, PageLearner, page_learner
from palmette.apps.webgraph.page import Link, Page, read_page
from palmette.apps.webgraph.school import School, build_school
from palmette.apps.webgraph.sites import PAPER_WORDS, RICH_WORDS, Collection, Site, page_collection
from palmette.apps.webgraph.urls import normal_url
from palmette.apps.webgraph.words import Vocabulary, page_words

__all__ = [
    "PAPER_WORDS",
    "RICH_WORDS",
    "Collection",
    "Edges",
    "FittedPages",
    "Link",
    "Page",
    "PageLearner",
    "School",
    "Site",
    "Vocabulary",
    "build_school",
    "merge_edges",
    "normal_url",
    "page_collection",
    "page_learner",
    "page_words",
    "read_page",
]
