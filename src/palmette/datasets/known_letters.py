"""Entry of the data set of handwritten words."""

from __future__ import annotations

from palmette.datasets import ocr_format
from palmette.datasets.decode import plain
from palmette.datasets.entry import Dataset, File, Source, Url

OCR_LETTERS = Dataset(
    name="ocr-letters",
    task="sequences",
    title="OCR letters: handwritten words",
    description=(
        "6,877 handwritten words (55 different ones) of 52,152 letters, in ten folds. Every letter is a\n"
        "binary image of 16 rows and 8 columns with a label a..z. The words were collected by Rob Kassel\n"
        "(MIT Spoken Language Systems Group); Ben Taskar selected and normalised them and removed the first\n"
        "letter of every word, a capital.\n"
        "Taskar, Guestrin and Koller, Max-margin Markov networks, NIPS 2003."
    ),
    homepage="http://ai.stanford.edu/~btaskar/ocr/",
    licence="none stated; not redistributed with palmette",
    sources=(
        Source(
            "letters", "a44e30f09e6f7b9038f047e5e7bfab096b973d27dc6201f3245471717de2c41e", 1_748_524,
            (File("ocr_letters.txt", plain), File("ocr_letters.npz", ocr_format.from_npz),
             File("letter.data.gz", ocr_format.from_letter_data_gz),
             File("letter.data", ocr_format.from_letter_data)),
            (Url("https://ai.stanford.edu/~btaskar/ocr/letter.data.gz", ocr_format.from_letter_data_gz),
             Url("http://ai.stanford.edu/~btaskar/ocr/letter.data.gz", ocr_format.from_letter_data_gz)),
        ),
    ),
)  # fmt: skip
