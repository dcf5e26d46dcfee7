"""A tagger: a chain model together with the template and the columns that it reads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ramify.apps.tagging.columns import ColumnText, Sentence
from ramify.apps.tagging.default_template import default_template
from ramify.apps.tagging.evaluation import Evaluation, evaluate_labels
from ramify.apps.tagging.held_out import HeldOut
from ramify.apps.tagging.learners import make_learner
from ramify.apps.tagging.templates import Template
from ramify.errors import DataFileError, ModelFileError


@dataclass(frozen=True)
class Tagger:
    """Labels the tokens of column files.

    Made by :meth:`train` or :meth:`load`.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        Fitted on the attributes that `template` makes.
    template : Template
    n_columns : int
        Columns of the training data, the label included.
    label_column : int
        Index of the label among them, from 0.
    separator : str
        What stood between the columns: a tab or a blank.
    seconds : dict of str to float
        What training spent on features, encode and solve.

    Examples
    --------
    >>> import io
    >>> from ramify.apps.tagging.columns import read_columns
    >>> text = read_columns("-", stream=io.StringIO("the D\\ndog N\\n\\na D\\ncat N\\n"))
    >>> tagger = Tagger.train(text, l2=0.1)
    >>> tagger.predict([[("the",), ("cat",)]])
    [['D', 'N']]
    """

    model: Any
    template: Template
    n_columns: int
    label_column: int
    separator: str
    seconds: dict[str, float] = field(default_factory=dict)

    # -- training -----------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        data: ColumnText | Sequence[ColumnText],
        *,
        template: Template | None = None,
        label_column: int = -1,
        algorithm: str = "crf",
        dev: ColumnText | None = None,
        watch: Callable[[Any, float], Any] | None = None,
        **options: Any,
    ) -> Tagger:
        """Learn from column files.

        Parameters
        ----------
        data : ColumnText or list of ColumnText
            As `ramify.apps.tagging.columns.read_columns` returns them; all with the same columns.
        template : Template, optional
            By default `ramify.apps.tagging.default_template.default_template`. Without label transitions
            (no line ``B``) every token is labelled on its own.
        label_column : int, default=-1
        algorithm : {'crf', 'ssvm', 'perceptron'}
        dev : ColumnText, optional
            Held-out data for `watch`.
        watch : callable, optional
            Called now and then during training with a solver's step and the token accuracy on `dev`.
        **options
            Of `ramify.apps.tagging.learners.make_learner`.

        Returns
        -------
        Tagger

        Raises
        ------
        DataFileError
            Files with different columns, or a template that reads a missing column or the label.
        ValueError
            An option that the algorithm does not have, or a bad value of one.
        """
        learner = make_learner(algorithm, **options)
        texts = [data] if isinstance(data, ColumnText) else list(data)
        first = common_columns(texts)
        label = first.label_index(label_column)
        if template is None:
            template = default_template_for(first, label)
        template.check(first.n_columns, label)
        labels = [sentence for text in texts for sentence in text.labels(label)]
        started = time.perf_counter()
        attributes = template.apply([sentence for text in texts for sentence in text.sentences])
        if not template.transitions:
            # Without transitions a sentence is a set of tokens. Sentences of one token have no label pairs,
            # so that "observed" gives the model none; it then labels whole sentences all the same.
            attributes = [[token] for sentence in attributes for token in sentence]
            labels = [[label] for sentence in labels for label in sentence]
            learner.set_params(transitions="observed")
        if dev is not None and watch is not None:
            held_out = HeldOut(template.apply(dev.sentences), dev.labels(label), watch)
            learner.set_params(callbacks=[*(learner.callbacks or ()), held_out])
        seconds = {"features": time.perf_counter() - started}
        learner.fit(attributes, labels)
        return cls(learner, template, first.n_columns, label, first.separator, seconds | learner.fit_seconds_)

    # -- prediction ---------------------------------------------------------------------------------------

    def predict(self, data: ColumnText | Sequence[Sentence]) -> list[list[str]]:
        """Label sentences.

        Parameters
        ----------
        data : ColumnText, or list of list of tuple of str
            Tokens with the columns of the training data; the label may be left out.

        Returns
        -------
        list of list of str
        """
        return self.model.predict(self._attributes(data))

    def predict_with_probability(
        self, data: ColumnText | Sequence[Sentence]
    ) -> tuple[list[list[str]], list[list[float]]]:
        """Label sentences, and give the marginal probability of each label that was chosen.

        Probabilities are those of ``p(y) ~ exp f(x, y)``, calibrated for a CRF only.
        """
        attributes = self._attributes(data)
        predicted = self.model.predict(attributes)
        place = {label: k for k, label in enumerate(self.model.codec_.classes_)}
        marginals = self.model.predict_marginals(attributes)
        chosen = [
            [float(row[place[label]]) for row, label in zip(table, labels)]
            for table, labels in zip(marginals, predicted)
        ]
        return predicted, chosen

    def predict_nbest(
        self, data: ColumnText | Sequence[Sentence], n: int
    ) -> list[list[tuple[list[str], float]]]:
        """Return the `n` best labellings of each sentence with their scores, best first; fewer if fewer are."""
        return self.model.predict_nbest(self._attributes(data), n)

    def evaluate(self, data: ColumnText) -> Evaluation:
        """Compare predictions with the labels of a file that has the columns of the training data."""
        return evaluate_labels(self.true_labels(data), self.predict(data))

    def true_labels(self, data: ColumnText) -> list[list[str]]:
        """Labels of a file, which must have all columns of the training data."""
        if data.n_columns != self.n_columns:
            raise DataFileError(
                f"{data.location()}: expected {self.n_columns} columns as in training, with the label in "
                f"column {self.label_column}; found {data.n_columns}"
            )
        return data.labels(self.label_column)

    def _attributes(self, data: ColumnText | Sequence[Sentence]) -> list[list[list[str]]]:
        if isinstance(data, ColumnText):
            return self.template.apply(data.aligned(self.n_columns, self.label_column))
        return self.template.apply([self._aligned(sentence, i) for i, sentence in enumerate(data)])

    def _aligned(self, sentence: Sentence, number: int) -> Sentence:
        """Put the columns where the template expects them, as `ColumnText.aligned` does for files."""
        width, label = self.n_columns, self.label_column
        for t, token in enumerate(sentence):
            if isinstance(token, str) or len(token) not in (width, width - 1):
                raise ValueError(
                    f"sentence {number}, token {t}: expected a tuple of {width} columns as in training (the "
                    f"label in column {label}), or of {width - 1} without the label; found {token!r:.60}"
                )
        return [t if len(t) == width else (*t[:label], "", *t[label:]) for t in sentence]

    # -- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the tagger to one file; a file that was there is replaced when the new one is complete."""
        extra = {
            "task": "tagging",
            "template": self.template.text,
            "n_columns": self.n_columns,
            "label_column": self.label_column,
            "separator": self.separator,
        }
        self.model.save(path, extra=extra)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Tagger:
        """Read a tagger; other model files are refused (`ramify.load` reads them)."""
        from ramify.estimators import load

        return cls.from_model(load(path), os.fspath(path))

    @classmethod
    def from_model(cls, model: Any, source: str) -> Tagger:
        """Return the tagger whose model was loaded from the file `source`."""
        extra = getattr(model, "extra_", None)
        if not isinstance(extra, dict) or extra.get("task") != "tagging":
            raise ModelFileError(
                f"{source}: this {type(model).__name__} is no tagger: neither 'ramify train' nor Tagger.save "
                f"wrote it; read it in Python with ramify.load"
            )
        try:
            template = Template.parse(extra["template"], f"the template of {source}")
            n_columns, label_column = int(extra["n_columns"]), int(extra["label_column"])
            template.check(n_columns, label_column)
            return cls(model, template, n_columns, label_column, str(extra["separator"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"{source}: the tagger is damaged ({type(error).__name__}: {error})"
            ) from error


def common_columns(texts: Sequence[ColumnText]) -> ColumnText:
    """Return the first of some files, after checking that all have the same number of columns."""
    if not texts:
        raise ValueError("there is no data to learn from; give at least one file")
    first = texts[0]
    for text in texts[1:]:
        if text.n_columns != first.n_columns or text.conllu != first.conllu:
            raise DataFileError(
                f"{text.location()}: {_columns(text)}, but {first.source} has {_columns(first)}; "
                f"give files with the same columns"
            )
    return first


def default_template_for(text: ColumnText, label_column: int) -> Template:
    """Return the default template for the columns of a file."""
    if text.n_columns < 2:
        raise DataFileError(
            f"{text.location()}: only one column; there must be a label and at least one column beside it"
        )
    source = "the default template"
    return Template.parse(default_template(text.n_columns, label_column, conllu=text.conllu), source)


def _columns(text: ColumnText) -> str:
    return f"{text.n_columns} columns{' of CoNLL-U' if text.conllu else ''}"
