"""From web pages to graphs of pages: words, links and edges."""

from ramify.apps.webgraph.edges import Edges, merge_edges
from ramify.apps.webgraph.page import Link, Page, read_page
from ramify.apps.webgraph.school import School, build_school
from ramify.apps.webgraph.urls import normal_url
from ramify.apps.webgraph.words import Vocabulary, page_words

__all__ = [
    "Edges",
    "Link",
    "Page",
    "School",
    "Vocabulary",
    "build_school",
    "merge_edges",
    "normal_url",
    "page_words",
    "read_page",
]
