"""Entry of the data set for activity recognition."""

from __future__ import annotations

from palmette.datasets.decode import plain
from palmette.datasets.entry import Dataset, File, Source, Url
from palmette.datasets.hapt_format import from_tar, from_zip

_UCI = "https://archive.ics.uci.edu"

HAPT = Dataset(
    name="hapt",
    task="sequences",
    title="HAPT: activities and postural transitions from a phone at the waist",
    description=(
        "Raw acceleration (g) and angular velocity (rad/s) at 50 Hz of 61 experiments with 30 people, 1,122,772\n"
        "samples, of which 815,614 are in 1,214 labelled segments of 12 activities. Split by person: 21 for\n"
        "training (42 experiments), 9 for testing (19).\n"
        "Reyes-Ortiz et al., Transition-aware human activity recognition using smartphones, Neurocomputing 2015."
    ),
    homepage="https://archive.ics.uci.edu/dataset/341",
    licence="as is, with citation of the paper; commercial use is prohibited",
    sources=(
        Source(
            "signals", "c51294c4e774122226793fda7c09aa36d7aa9757548b2283dd7dd9cc2baa62ea", 26_973_610,
            (File("hapt.signals", plain), File("HAPT-raw.tar.xz", from_tar), File("HAPT Data Set.zip", from_zip)),
            (Url(f"{_UCI}/ml/machine-learning-databases/00341/HAPT%20Data%20Set.zip", from_zip),
             Url(f"{_UCI}/static/public/341/smartphone+based+recognition+of+human+activities+and+postural"
                 "+transitions.zip", from_zip)),
        ),
    ),
)  # fmt: skip
