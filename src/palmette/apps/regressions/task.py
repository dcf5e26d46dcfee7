"""The task of output-kernel regressions on the command line: models that were fitted in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, NoReturn

from palmette.apps.task import Options, Result, Task, register_task
from palmette.errors import DataFileError, ModelFileError

_ABOUT = {
    "predict": "One output per line; that in the file may be empty.",
    "evaluate": "Share of right outputs, and the mean loss that the output kernel or the task loss counts.",
    "train": "Fit in Python, model.save(FILE): kernels of inputs and outputs are objects.",
}


@dataclass(frozen=True)
class Reader:
    """A fitted regression, and how it reads its files.

    Parameters
    ----------
    model : SORR or SOSC
    n_numbers : int, optional
        Numbers of an input; None for texts.
    """

    model: Any
    n_numbers: int | None

    def samples(self, data: str) -> tuple[Any, list[str]]:
        """Inputs and outputs of a file."""
        from palmette.apps.regressions.samples import read_samples

        X, y = read_samples(data, self.n_numbers)
        first = self.model.predict(X[:1])[0]
        if not isinstance(first, str):
            raise DataFileError(
                f"{data}: files hold outputs as texts, and the model predicts {first!r:.60}, a {type(first).__name__}; "
                "fit it with texts, or use it in Python"
            )
        return X, y


class _Regressions(Task):
    """Predict outputs by kernels."""

    name = "regression"
    summary = "predict outputs by SORR or SOSC, fitted in Python"
    files = "samples, one per line: OUTPUT, a tab, and the input, a text or numbers separated by tabs"
    about = _ABOUT

    def takes(self, model: Any) -> bool:
        """Every output-kernel regression."""
        from palmette.estimators.output_regression import OutputRegression

        return isinstance(model, OutputRegression)

    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> NoReturn:
        raise ValueError(
            "--task regression is for models that were fitted in Python: SORR(output, kernel=...).fit(X, y).save(FILE)"
        )

    def open(self, model: Any, source: str) -> Reader:
        """Refuse models of other kinds."""
        if not self.takes(model):
            raise ModelFileError(f"{source}: a {type(model).__name__} is no SORR or SOSC; leave --task out")
        return Reader(model, None if model.inputs_.kernel.objects else model.n_features_in_)

    def predict(self, application: Reader, data: str, out: IO[str], options: Options) -> None:
        """Write the output of every sample."""
        X, _ = application.samples(data)
        for output in application.model.predict(X):
            out.write(f"{output}\n")

    def samples(self, application: Reader, data: str, options: Options) -> tuple[Any, Any]:
        """Inputs and outputs."""
        return application.samples(data)

    def evaluate(
        self, application: Reader | None, data: str, options: Options, log: Callable[[str], None]
    ) -> Result:
        """Right outputs and the mean loss."""
        if application is None:
            raise ValueError(
                f"{data}: files of samples hold no predictions; give the --model that makes them"
            )
        import numpy as np

        X, y = application.samples(data)
        images = application.model.pre_images(X)
        right = float(np.mean([a == b for a, b in zip(y, images.outputs)]))
        loss = 1.0 - application.model.score(X, y)
        record = {
            "task": self.name, "samples": len(y), "right": right, "loss": loss, "search": images.method,
            "exact": float(np.mean(images.exact)),
        }  # fmt: skip
        return record, (
            f"right {right:.4f}, mean loss {loss:.4f}; {len(y):,} samples\n"
            f"search: {images.method}, proven for {record['exact']:.1%} of them"
        )

    def answer(self, application: Reader, options: Options, top: int | None) -> Result:
        """Facts of a regression, which has coefficients of samples and no weights of features."""
        model = application.model
        shape, result = model.dual_coef_.shape, model.result_
        reading = "a text" if application.n_numbers is None else f"{application.n_numbers} numbers"
        record = {
            "class": type(model).__name__, "task": self.name, "kernel": repr(model.kernel_),
            "output": repr(model.output), "support": shape[0], "coordinates": shape[1],
            "objective": result.objective, "optimality": result.kkt, "converged": result.converged,
        }  # fmt: skip
        return record, "\n".join(
            [
                f"model      {model!r}",
                f"input      OUTPUT, a tab, {reading}",
                f"support    {shape[0]:,} inputs, votes in {shape[1]:,} coordinates",
                f"objective  {result.objective:.8g}, optimality {result.kkt:.2g}"
                + ("" if result.converged else ", NOT CONVERGED"),
            ]
        )


register_task(_Regressions())
