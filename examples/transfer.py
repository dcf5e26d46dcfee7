"""Transfer between domains: much labelled text of one kind, little of another.

Words are tagged. In the target some words have other tags than in the source, so that neither the source alone nor the
union of both is right about them; the few sentences of the target alone do not have all words.
"""

import numpy as np

from palmette import CRF, Chain, Transfer, compare_transfer

TAGS, WORDS, MOVED = ("noun", "verb", "other"), 120, 25
rng = np.random.default_rng(0)
tag_of = {"source": rng.integers(0, 3, WORDS)}
tag_of["target"] = np.where(np.arange(WORDS) < MOVED, (tag_of["source"] + 1) % 3, tag_of["source"])


def sentences(domain, n):
    """Sentences of eight words; one tag in twenty is wrong."""
    words = rng.integers(0, WORDS, (n, 8))
    noise = rng.integers(1, 3, words.shape) * (rng.random(words.shape) < 0.05)
    tags = (tag_of[domain][words] + noise) % 3
    return [[[f"w:{w}"] for w in row] for row in words], [[TAGS[t] for t in row] for row in tags]


(Xs, ys), (Xt, yt) = sentences("source", 200), sentences("target", 260)
domains = ["source"] * 200 + ["target"] * 260
found = compare_transfer(
    CRF(Chain(), tol=0.01), Xs + Xt, ys + yt, domains, "target", share=0.15, cv=2,
    settings=[{"l2": l2} for l2 in (0.3, 1.0, 3.0)],
    transfer_settings=[{"model__l2": 1.0, "rho": rho} for rho in (0.3, 1.0, 3.0)],
)  # fmt: skip
print(found)
print(
    "transfer against the same share alone:",
    found.difference(found.row("Transfer"), found.row("Partial target")),
)
print("transfer against union:", found.difference(found.row("Transfer"), found.row("Union")))

model = Transfer(CRF(Chain(), l2=1.0), rho=1.0).fit(Xs + Xt[:40], ys + yt[:40], domains=domains[:240])
for domain in ("source", "target"):
    own = model.model_of(domain)  # a plain model, which can be saved
    print(
        f"{domain}: {own.score(Xt[130:], yt[130:]):.3f} of the tags of target sentences by the weights of the {domain}"
    )
