"""Handwritten words by output-kernel regression: SORR and SOSC.

The words of Kassel and Taskar, binary images of 16 x 8 pixels a letter, in ten folds: train on one fold, test on the
other nine. Words are compared as wholes, letters one after the other, by cosines of pixels or of blurred gradients in
eight directions, to a power. Kernel and strength are chosen by 10-fold cross-validation inside the training fold.
Outputs are decoded among the training words: with Dirac's kernel, which is the 0/1 loss, with Hamming's and the known
length of the word, and with Hamming's and a blank symbol behind the end, for words of any length.

There are 55 distinct words, which such kernels memorise: `palmette bench sorr_ocr` also tests words that training has
not, and compares chains that know the same words. The quick run trains SORR on pixels of the first fold.
"""

import numpy as np

from palmette import SORRCV, SOSCCV
from palmette.datasets import load_ocr_letters
from palmette.kernels import Directions, Hamming, Joined, Polynomial
from palmette.outputs import CandidateOutputs

SHAPE = (16, 8)
L2S = [1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4]
FEATURES = {"pixels": (None, (1, 2, 3)), "directions": (Directions(SHAPE, 1.5), (2,))}
OUTPUTS = {
    "Dirac": "dirac",
    "Hamming, known length": CandidateOutputs(Hamming(), lengths="known"),
    "Hamming, blank": CandidateOutputs(Hamming(blank=True)),
}
# Words and letters in %, means over folds.
TARGETS = {
    ("pixels", "Dirac"): (7.0, None),
    ("pixels", "Hamming, known length"): (4.7, 2.3),
    ("pixels", "Hamming, blank"): (None, 3.6),
    ("directions", "Hamming, known length"): (2.5, 1.15),
}


def kernels(features):
    function, degrees = FEATURES[features]
    return [Joined(Polynomial(d, coef0=0.0, normalize=True), function) for d in degrees]


def learners(quick):
    """Names, features, outputs and models."""
    for features in ["pixels"] if quick else FEATURES:
        for output, space in OUTPUTS.items():
            yield "SORR", features, output, SORRCV(space, kernels=kernels(features), l2s=L2S)
            if not quick:
                yield "SOSC", features, output, SOSCCV(space, kernels=kernels(features), multipliers=12)


def run(context):
    data = load_ocr_letters()
    spelt = ["".join(letters) for letters in data.target]
    found, shown = {}, None
    for fold in [0] if context.quick else range(3):
        train, test = np.flatnonzero(data.folds == fold), np.flatnonzero(data.folds != fold)
        words, truth = [data.data[i] for i in test], [spelt[i] for i in test]
        for learner, features, output, model in learners(context.quick):
            model.fit([data.data[i] for i in train], [spelt[i] for i in train])
            read = model.predict(words)
            found.setdefault((learner, features, output), []).append(errors(truth, read))
            shown = shown or (words, truth, read)
            context.log(
                f"fold {fold}, {learner}, {features}, {output}: "
                f"{found[learner, features, output][-1][0]:.2f} % of words wrong"
            )
    rows = [[", ".join(key), *np.mean(values, axis=0).tolist()] for key, values in found.items()]
    context.add_table("Errors, trained on one fold", ["", "words %", "letters %"], rows)
    context.add_figure("Words that the first model misread", lambda figure: draw(figure, *shown))
    for (learner, features, output), values in found.items():
        bounds = TARGETS.get((features, output), (None, None))
        for what, value, bound in zip(("words", "letters"), np.mean(values, axis=0), bounds):
            if bound is not None:
                context.add_target(f"{learner}, {features}, {output}: {what} %", value, "<=", bound)


def errors(true, found):
    """Wrong words and wrong letters in %; missing and additional letters count, too."""
    letters = sum(sum(a != b for a, b in zip(y, z)) + abs(len(y) - len(z)) for y, z in zip(true, found))
    return 100 * sum(y != z for y, z in zip(true, found)) / len(true), 100 * letters / sum(map(len, true))


def draw(figure, words, truth, read, n=12):
    wrong = [i for i, (t, p) in enumerate(zip(truth, read)) if t != p][:n]
    axes = figure.subplots(4, 3).ravel()
    for ax in axes:
        ax.set_axis_off()
    for ax, i in zip(axes, wrong):
        ax.imshow(np.hstack([letter.reshape(SHAPE) for letter in words[i]]), cmap="gray_r")
        ax.set_title(f"{truth[i]} read as {read[i]}", fontsize=8)
