"""Keep a model: one file of JSON and arrays, without pickle, safe to open from anybody."""

import tempfile
from pathlib import Path

import numpy as np

import palmette
from palmette import CRF, Chain
from palmette.datasets import make_tagging
from palmette.errors import ModelFileError

X, Y = make_tagging(100, random_state=0)
model = CRF(Chain(), l2=0.5).fit(X, Y)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tagger.palmette"
    model.save(path, extra={"trained_on": "simulated sentences"})
    print(f"written: {path.name}, {path.stat().st_size:,} bytes")

    again = palmette.load(path)
    print("loaded:", again, again.extra_)
    print("same weights:", np.array_equal(again.coef_, model.coef_))
    print("same predictions:", again.predict(X) == model.predict(X))
    print(f"its certificate too: objective {again.objective_:.4f}, gap {again.result_.gap:.1e}")

    # A loaded model can go on learning: its weights are the start of the next fit.
    n_first = again.n_iter_
    again.set_params(warm_start=True, l2=0.4).fit(X, Y)
    print(f"iterations: {n_first} from zero, {again.n_iter_} from the weights of the neighbouring penalty")

    # Damaged files, files of other classes and of newer versions are refused with a message.
    path.write_bytes(path.read_bytes()[:-100])
    try:
        palmette.load(path)
    except ModelFileError as error:
        print("refused:", str(error).replace(folder, "..."))
