"""What a model file of a tagger holds beside the model: template, columns, spans, word clusters, feature set."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from palmette.apps.tagging.partial_labels import Marks
from palmette.apps.tagging.span_labels import SpanLabels
from palmette.data.checks import check_type, check_whole, entry
from palmette.data.span_encodings import get_encoding
from palmette.errors import ModelFileError
from palmette.features.clusters import WordClusters
from palmette.features.sets import FeatureSet
from palmette.features.templates import Template


def write_parts(tagger: Any, path: str | os.PathLike[str]) -> None:
    """Write a tagger to one file."""
    clusters, arrays = (None, {}) if tagger.clusters is None else tagger.clusters.state()
    features, more = (None, {}) if tagger.features is None else tagger.features.state()
    arrays |= {f"features.{name}": array for name, array in more.items()}
    extra = {
        "task": "tagging",
        "template": tagger.template.text,
        "n_columns": tagger.n_columns,
        "label_column": tagger.label_column,
        "separator": tagger.separator,
        "spans": None if tagger.spans is None else asdict(tagger.spans),
        "marks": asdict(tagger.marks) if tagger.marks else None,
        "clusters": clusters,
        "features": features,
        "word_column": tagger.word_column,
    }
    tagger.model.save(path, extra=extra, extra_arrays=arrays)


def read_parts(model: Any, source: str) -> dict[str, Any]:
    """The fields of the tagger whose model was loaded from the file `source`, all but the model."""
    extra = getattr(model, "extra_", None)
    if not isinstance(extra, dict) or extra.get("task") != "tagging":
        raise ModelFileError(
            f"{source}: this {type(model).__name__} is not a tagger: neither 'palmette train' (--task tagging) nor "
            f"Tagger.save wrote it; read it in Python with palmette.load"
        )
    try:
        n_columns = check_whole("n_columns", extra.get("n_columns"), 1)
        parts: dict[str, Any] = {
            "template": Template.parse(entry(extra, "template", str), f"the template of {source}"),
            "n_columns": n_columns,
            "label_column": check_whole("label_column", extra.get("label_column"), 0, n_columns - 1),
            "separator": entry(extra, "separator", str),
            "word_column": check_whole("word_column", extra.get("word_column", 0), 0, n_columns - 1),
        }
        encoder = model.encoder_
        if getattr(encoder, "template", None) is None or encoder.template.text != parts["template"].text:
            raise ValueError("the model reads columns by another template, or by none")
        if extra.get("spans") is not None:
            kept = entry(extra, "spans", dict)
            parts["spans"] = SpanLabels(
                *(get_encoding(entry(kept, key, str)).name for key in ("own", "inner"))
            )
            parts["spans"].back([[check_type("a label", label, str)] for label in model.codec_.classes_])
        if extra.get("marks") is not None:
            parts["marks"] = Marks(
                **{key: _text_or_none(own) for key, own in entry(extra, "marks", dict).items()}
            )
        n_clusters = 0
        if extra.get("clusters") is not None:
            parts["clusters"] = WordClusters.from_state(entry(extra, "clusters", dict), model.extra_arrays_)
            n_clusters = len(parts["clusters"].column_names_)
        if extra.get("features") is not None:
            own = {
                k.removeprefix("features."): v
                for k, v in model.extra_arrays_.items()
                if k.startswith("features.")
            }
            parts["features"] = FeatureSet.from_state(entry(extra, "features", dict), own)
            n_clusters = len(parts["features"].column_names_) - n_columns
            if parts["features"].template_.text != parts["template"].text:
                raise ValueError("the feature set has another template")
        parts["template"].check(parts["n_columns"] + n_clusters, parts["label_column"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{source}: the tagger is damaged ({type(error).__name__}: {error})") from error
    return parts


def _text_or_none(mark: Any) -> Any:
    return None if mark is None else check_type("a mark", mark, str)
