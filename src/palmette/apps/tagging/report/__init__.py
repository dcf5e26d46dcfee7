"""The evaluation report: one HTML page with scores, confusions, worst sentences and strongest weights."""

from palmette.apps.tagging.report.build import report_on_labels, report_on_model, report_on_tagger, words_of
from palmette.apps.tagging.report.report import EvaluationReport

__all__ = ["EvaluationReport", "report_on_labels", "report_on_model", "report_on_tagger", "words_of"]
