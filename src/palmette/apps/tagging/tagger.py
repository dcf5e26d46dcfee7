"""A tagger: a chain model together with the template and the columns that it reads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.apps.interrupted import handing_over
from palmette.apps.tagging.averaging import check_models, fit_averaged
from palmette.apps.tagging.column_text import ColumnText, Sentence
from palmette.apps.tagging.evaluation import Evaluation, evaluate_labels
from palmette.apps.tagging.held_out import HeldOut
from palmette.apps.tagging.learners import check_together, make_learner
from palmette.apps.tagging.named_features import (
    bound_features,
    check_columns,
    default_columns,
    folds_apart,
    skipping,
)
from palmette.apps.tagging.partial_labels import Marks, hint_at_mark
from palmette.apps.tagging.span_labels import SpanLabels
from palmette.apps.tagging.tagger_file import read_parts, write_parts
from palmette.apps.tagging.training_files import (
    common_columns,
    default_template_for,
    label_index,
    word_clusters,
    word_column,
)
from palmette.apps.tuning import check_folds, check_tuning, fit_tuned
from palmette.errors import DataFileError
from palmette.estimators.folds import Part
from palmette.estimators.training import seed_of
from palmette.features.clusters import WordClusters
from palmette.features.column_table import ColumnTable
from palmette.features.encoded import EncodedInputs
from palmette.features.sets import FeatureSet
from palmette.features.templates import ColumnSentences, Template, as_table
from palmette.structures import Chain

Data = ColumnText | ColumnTable | Sequence[Sentence]


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
    spans : SpanLabels or None
        If the model has another encoding of spans than the files.
    clusters : WordClusters or None
        Whose columns stand behind those of the files.
    word_column : int
        The column that clusters are of.
    marks : Marks
        What stands for labels that are not known in files, in those to evaluate on, too.
    features : FeatureSet or None
        The named feature set that made the template, with what it learnt; its columns stand behind those of the files.

    Examples
    --------
    >>> import io
    >>> from palmette.apps.tagging.columns import read_columns
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
    spans: SpanLabels | None = None
    clusters: WordClusters | None = None
    word_column: int = 0
    marks: Marks = field(default_factory=Marks)
    features: FeatureSet | None = None

    # -- training -----------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        data: ColumnText | Sequence[ColumnText],
        *,
        template: Template | None = None,
        features: FeatureSet | str | None = None,
        columns: Sequence[str] | None = None,
        label_column: int | None = None,
        algorithm: str = "crf",
        dev: ColumnText | None = None,
        watch: Callable[[Any, float], Any] | None = None,
        unknown: str | None = None,
        one_of: str | None = None,
        encoding: str | None = None,
        invalid: str | None = None,
        clusters: WordClusters | int | Sequence[int] | None = None,
        cluster_text: Sequence[Sequence[str]] | None = None,
        edges: bool | None = None,
        constrained: bool = False,
        prune: bool = False,
        models: int = 1,
        tune: str | int | None = None,
        **options: Any,
    ) -> Tagger:
        """Learn from column files.

        Parameters
        ----------
        data : ColumnText or list of ColumnText
            As `palmette.apps.tagging.columns.read_columns` returns them; all with the same columns.
        template : Template, optional
            By default `palmette.apps.tagging.default_template.default_template`. Without label transitions
            (no line ``B``) every token is labelled on its own.
        features : str or FeatureSet, optional
            Instead of a template, a feature set by its name (`palmette.features.feature_set`).
        columns : sequence of str, optional
            Names of the columns, for `features`: ``("word", "pos", "label")``, ``"_"`` for one to skip. By default the
            first beside the label is the word, and others have no name that a set reads.
        label_column : int, optional
            By default the last, or in CoNLL-U that of universal parts of speech.
        algorithm : {'crf', 'ssvm', 'perceptron'}
        dev : ColumnText, optional
            Held-out data for `watch` and for `tune`.
        watch : callable, optional
            Called now and then during training with a solver's step and the token accuracy on `dev`.
        unknown, one_of : str, optional
            The label of tokens without annotation, such as ``?``, and what separates possible labels, such as ``|`` in
            ``B-PER|B-ORG``. ``"ssvm"`` then has the bridge loss.
        encoding : {'IOB1', 'IOB2', 'IOBES', ...}, optional
            Learn spans in this encoding (`palmette.data.span_encodings`); predictions are in that of the files.
        invalid : {'raise', 'repair'}, optional
            Check that the labels are valid spans: refuse those that are not, or repair them. With `encoding` or
            `constrained` 'raise' by default, else labels are taken as they are.
        clusters : int, tuple of int, or WordClusters, optional
            Numbers of word clusters to learn from the words of `data`, or fitted ones. They are further columns
            behind those of the files; the default template reads them. With `features` numbers only; those of the set
            by default.
        cluster_text : list of list of str, optional
            More sentences to learn clusters from.
        edges : bool, optional
            Whether features of a set belong to pairs of labels, too; by default for the perceptron, which is as fast
            with them.
        constrained : bool, default=False
            Only labels that are valid spans in the encoding of the model may follow each other, in training and in
            prediction (``Chain(allowed=...)``).
        prune : bool, default=False
            Drop the features whose weights are all 0, as ``l1`` leaves them.
        models : int, default=1
            Average the weights of so many perceptrons, each with its own order of the sentences.
        tune : "dev" or int, optional
            Choose ``l2`` by the score on `dev`, or on so many folds of the sentences: F1 where labels are chunks, else
            the share of tokens labelled right. ``model.cv_scores_`` has the curve.
        **options
            Of `palmette.apps.tagging.learners.make_learner`: ``structure=Chain(order=2)``, ``l2``, ``regularizer``, ...

        Returns
        -------
        Tagger

        Raises
        ------
        DataFileError
            Files with different columns, a template that reads a missing column or the label, invalid spans.
        ValueError
            An option that the algorithm does not have, or a bad value of one.
        TrainingInterrupted
            After Ctrl-C, a KeyboardInterrupt whose ``application`` is the tagger with the best weights so far.
        """
        learner = make_learner(algorithm, **options)
        check_together(learner, template, constrained)
        check_tuning(learner, tune, dev is not None)
        check_models(algorithm, models)
        if features is None and (columns is not None or edges is not None):
            raise ValueError("columns and edges are settings of a feature set by name: give features, too")
        if features is not None and template is not None:
            raise ValueError("features and template exclude each other: a feature set has a template")
        marks = Marks(unknown, one_of)
        if marks and (encoding or invalid or constrained):
            raise ValueError(
                "unknown and one_of mark labels that are not known, and encoding, invalid and constrained need whole "
                "spans: leave these out"
            )
        if marks and algorithm == "ssvm":
            learner.set_params(loss="bridge")
        texts = [data] if isinstance(data, ColumnText) else list(data)
        check_folds(tune, sum(len(text.table) for text in texts), "sentences")
        first = common_columns(texts)
        label = label_index(first, label_column)
        if columns is not None:
            label = check_columns(columns, first, label_column)
        word = word_column(first, label)
        started = time.perf_counter()
        seed = 0 if features is None and clusters is None else seed_of(learner.random_state)
        named, table = None, None
        if features is not None:
            names = default_columns(first, label) if columns is None else skipping(columns)
            named = bound_features(
                features, names, clusters, cluster_text, edges, usual=algorithm == "perceptron", seed=seed
            )
            check_together(learner, named.draft(), constrained)
            if marks and named.definition.reads_labels:
                raise ValueError(
                    f"the feature set {named.name!r} learns from whole labels, and unknown and one_of mark labels that "
                    "are not known: choose another set, such as bio-ner, or leave these out"
                )
            labels_of_files = [y for text in texts for y in text.labels(label)]
            whole = ColumnTable.concatenated([text.table for text in texts])
            table = named.extended_fit(whole, labels_of_files)
            template, clusters = named.template_, None
            encoding = encoding or named.definition.encoding
        if clusters is not None and not isinstance(clusters, WordClusters):
            sizes = clusters if isinstance(clusters, int) else tuple(clusters)
            clusters = word_clusters(sizes, texts, word, cluster_text or [], seed)
        n_clusters = 0 if clusters is None else len(clusters.column_names_)
        if template is None:
            template = default_template_for(first, label, n_clusters)
        template.check(first.n_columns + n_clusters if table is None else table.n_columns, label)
        if template.has_edge_features:
            learner.set_params(edge_features=["B"])
        tagger = cls(
            learner,
            template,
            first.n_columns,
            label,
            first.separator,
            clusters=clusters,
            word_column=word,
            marks=marks,
            features=named,
        ).with_spans(texts, encoding, invalid or ("raise" if constrained else None))
        if constrained and tagger.spans is not None:
            learner.set_params(structure=Chain(learner.structure.order, allowed=tagger.spans.inner))
        labels: list[list[Any]] = (
            marks.read(texts, label)
            if marks
            else [y for text in texts for y in tagger.labels_for_model(text, invalid or "raise")]
        )
        if unknown is None:
            hint_at_mark(labels)
        if table is None:
            table = ColumnTable.concatenated([tagger.columns(text) for text in texts])
        encoded = learner.encode(ColumnSentences(table, template))
        numbers = None
        if not template.transitions:
            numbers = np.repeat(np.arange(len(encoded)), encoded.lengths)
            # Without transitions a sentence is a set of tokens. Sentences of one token have no label pairs,
            # so that "observed" gives the model none; it then labels whole sentences all the same.
            alone = replace(encoded.batch, offsets=np.arange(encoded.batch.n_rows + 1))
            encoded = EncodedInputs(alone, encoded.encoder)
            labels = [[label] for sentence in labels for label in sentence]
            learner.set_params(encoding__transitions="observed")
        held_out = None
        if dev is not None and (watch is not None or tune == "dev"):
            inputs = EncodedInputs(encoded.encoder.transform(tagger.columns(dev)), encoded.encoder)
            seen = {label for y in labels for label in y if isinstance(label, str)}
            held_out = Part(inputs, tagger.labels_for_model(dev, "repair", seen), None)
        if held_out is not None and watch is not None:
            watcher = HeldOut(held_out.X, held_out.y, watch)
            learner.set_params(callbacks=[*(learner.callbacks or ()), watcher])
        seconds = {"features": time.perf_counter() - started}
        with handing_over(tagger):
            if models > 1:
                fit_averaged(learner, encoded, labels, models)
            elif tune is None:
                learner.fit(encoded, labels)
            else:
                way: dict[str, Any] = {"n_folds": tune, "groups": numbers}
                if tune == "dev":
                    way = {"held": held_out}
                elif named is not None and named.definition.reads_labels:
                    way = {"folds": folds_apart(named, whole, labels_of_files, learner, labels, int(tune))}
                tokens = tune != "dev" and (
                    numbers is not None or bool(marks)
                )  # of which single ones are scored
                score = None if tokens else tagger.score
                fit_tuned(learner, Part(encoded, labels, None), **way, score=score)
        if prune:
            learner.prune()
        return replace(tagger, seconds=seconds | learner.fit_seconds_)

    def score(self, model: Any, X: Any, y: Any) -> float:
        """F1 of chunks, or accuracy, of another model with the labels of this tagger's."""
        found = evaluate_labels(self._outwards(y), self._outwards(model.predict(X)))
        return found.accuracy if found.f1 is None else found.f1

    def with_spans(self, texts: Sequence[ColumnText], encoding: str | None, invalid: str | None) -> Tagger:
        """This tagger with the encodings of its labels, if they matter."""
        if invalid not in (None, "raise", "repair"):
            raise ValueError(f"invalid={invalid!r} is unknown; choose raise or repair")
        if encoding is None and invalid is None:
            return self
        labels = [y for text in texts for y in text.labels(self.label_column)]
        try:
            return replace(self, spans=SpanLabels.chosen(labels, encoding))
        except ValueError as error:
            raise ValueError(f"{texts[0].source}: {error}") from error

    # -- prediction ---------------------------------------------------------------------------------------

    def predict(self, data: Data) -> list[list[str]]:
        """Label sentences.

        Parameters
        ----------
        data : ColumnText, ColumnTable, or list of list of tuple of str
            Tokens with the columns of the training data; the label may be left out.

        Returns
        -------
        list of list of str
        """
        return self._outwards(self.model.predict(self.columns(data)))

    def predict_with_probability(self, data: Data) -> tuple[list[list[str]], list[list[float]]]:
        """Label sentences, and give the marginal probability of each label that was chosen.

        Probabilities are those of ``p(y) ~ exp f(x, y)``, calibrated for a CRF only.
        """
        encoded = self.model.encode(self.columns(data))
        predicted = self.model.predict(encoded)
        place = {label: k for k, label in enumerate(self.model.codec_.classes_)}
        chosen = [
            table[np.arange(len(labels)), [place[label] for label in labels]].tolist()
            for table, labels in zip(self.model.predict_marginals(encoded), predicted)
        ]
        return self._outwards(predicted), chosen

    def predict_nbest(self, data: Data, n: int) -> list[list[tuple[list[str], float]]]:
        """Return the `n` best labellings of each sentence with their scores, best first; fewer if fewer are."""
        found = self.model.predict_nbest(self.columns(data), n)
        return [
            list(zip(self._outwards([labels for labels, _ in outputs]), [score for _, score in outputs]))
            for outputs in found
        ]

    def evaluate(self, data: ColumnText) -> Evaluation:
        """Compare predictions with the labels of a file that has the columns of the training data.

        Labels that ``marks`` says are not known do not count.
        """
        return evaluate_labels(self.true_labels(data), self.predict(data))

    def true_labels(self, data: ColumnText, classes: Collection[str] | None = None) -> list[list[Any]]:
        """Labels of a file, which must have all columns of the training data; ``classes`` if not those of the model."""
        if data.n_columns != self.n_columns:
            raise DataFileError(
                f"{data.location()}: expected {self.n_columns} columns as in training, with the label in "
                f"column {self.label_column}; found {data.n_columns}{data.hint_at_separator()}"
            )
        if not self.marks:
            return data.labels(self.label_column)
        return self.marks.read(
            [data], self.label_column, self.model.codec_.classes_ if classes is None else classes
        )

    def labels_for_model(
        self, data: ColumnText, invalid: str = "repair", classes: Collection[str] | None = None
    ) -> list[list[Any]]:
        """Labels of a file in the encoding of the model."""
        labels = self.true_labels(data, classes)
        return labels if self.spans is None else self.spans.inwards(data, labels, invalid)

    def columns(self, data: Data) -> ColumnTable:
        """The columns that the template reads: those of the data where it expects them, then those made of them."""
        if isinstance(data, ColumnText):
            table = data.aligned(self.n_columns, self.label_column)
        elif isinstance(data, ColumnTable):
            table = data
        else:
            table = as_table([self._aligned(sentence, i) for i, sentence in enumerate(data)])
        if self.features is not None:
            return self.features.extended(table)
        if self.clusters is None or not table.n_tokens:
            return table
        found = [self.clusters.clusters_of(word) for word in table.cells[self.word_column].strings()]
        for cells in zip(*found):
            table = table.with_column(self.word_column, cells)
        return table

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

    def _outwards(self, labels: list[list[str]]) -> list[list[str]]:
        return labels if self.spans is None else self.spans.back(labels)

    # -- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tagger to one file; a file that was there is replaced when the new one is complete."""
        write_parts(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tagger:
        """Read a tagger; other model files are refused (`palmette.load` reads them)."""
        from palmette.estimators import load

        return cls.from_model(load(path), os.fspath(path))

    @classmethod
    def from_model(cls, model: Any, source: str) -> Tagger:
        """Return the tagger whose model was loaded from the file `source`."""
        return cls(model, **read_parts(model, source))
