"""Model files: one zip of JSON and plain arrays, safe to open even from a stranger."""

import tempfile
from pathlib import Path

import ramify
from ramify import CRF, Chain
from ramify.datasets import make_tagging
from ramify.errors import ModelFileError

X, Y = make_tagging(n_samples=80, random_state=0)
model = CRF(Chain(), l2=1.0).fit(X, Y)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tagger.ramify"
    model.save(path, extra={"trained on": "simulated sentences"})
    print(f"{path.name}: {path.stat().st_size:,} bytes")

    again = ramify.load(path)
    print(f"{again!r} with labels {again.classes_.tolist()}")
    print("same predictions:", again.predict(X) == model.predict(X))
    print("kept beside it:", again.extra_)
    print(
        f"certificate: objective {again.objective_:.4f}, gap {again.result_.gap:.2g}, {again.result_.reason}"
    )

    path.write_bytes(path.read_bytes()[:500])
    try:
        ramify.load(path)
    except ModelFileError as error:
        print("a truncated file is refused:", str(error).replace(folder, "..."))
