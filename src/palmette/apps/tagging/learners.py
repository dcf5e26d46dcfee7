"""The learners of a tagger by name, with their options checked before any data is read."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from palmette.apps.settings import check_settings, is_number
from palmette.features.choose_encoder import check_options

if TYPE_CHECKING:
    from palmette.features.templates import Template

SOLVERS = {
    "crf": ("auto", "dual", "lbfgs", "stochastic", "bundle", "proximal"),
    "ssvm": (
        "auto",
        "frank_wolfe",
        "bundle",
        "smo",
        "one_slack",
        "linear_program",
        "n_slack",
        "subgradient",
        "pegasos",
        "stochastic",
    ),
    "perceptron": ("perceptron", "passive_aggressive", "arow"),
}
ALGORITHMS = tuple(SOLVERS)


def make_learner(algorithm: str = "crf", **options: Any) -> Any:
    """Make an estimator for label sequences.

    Parameters
    ----------
    algorithm : {'crf', 'ssvm', 'perceptron'}
    **options
        Settings of the estimator, such as ``structure`` (a ``Chain``), ``l2``, ``l1`` (not for the perceptron),
        ``regularizer``, ``solver``, ``tol``, ``max_iter``, ``n_jobs``, ``random_state`` and ``callbacks``, and those of
        its :class:`~palmette.Encoding`, such as ``min_count`` and ``n_hash``. None stands for its default.

    Examples
    --------
    >>> make_learner("ssvm", l2=0.5, max_iter=None)
    SSVM(l2=0.5, structure=Chain())
    """
    from palmette.estimators import CRF, SSVM, Encoding, Perceptron
    from palmette.structures import Chain

    kinds = {"crf": CRF, "ssvm": SSVM, "perceptron": Perceptron}
    if algorithm not in kinds:
        raise ValueError(f"algorithm={algorithm!r} is unknown; choose one of {', '.join(ALGORITHMS)}")
    given = {"structure": Chain()} | {name: value for name, value in options.items() if value is not None}
    columns = Encoding().get_params()  # given one by one: the "encoding" of a tagger is that of spans
    known = kinds[algorithm](Chain()).get_params(deep=False) | columns
    _check(algorithm, given, {name: value for name, value in known.items() if name != "encoding"})
    own = {name: given.pop(name) for name in columns if name in given}
    learner = kinds[algorithm](**given, encoding=Encoding(**own) if own else None)
    check_together(learner)
    return learner


def _check(algorithm: str, options: dict[str, Any], known: dict[str, Any]) -> None:
    from palmette.structures import Chain

    for name, value in options.items():
        if algorithm == "perceptron" and name in ("l2", "l1"):
            raise ValueError(
                f"{name}={value!r}: the perceptron has no penalty; leave {name} out, or choose crf or ssvm"
            )
        if name not in known:
            raise ValueError(f"{algorithm} has no option {name!r}; it has: {', '.join(sorted(known))}")
    structure = options["structure"]
    if not isinstance(structure, Chain) or structure.layout != "sequences":
        raise ValueError(f"a tagger labels chains: structure must be a Chain, got {structure!r:.80}")
    if structure.order not in (1, 2):
        raise ValueError(f"the order of a chain must be 1 or 2, got {structure.order!r}")
    check_settings(algorithm, options, SOLVERS[algorithm])
    check_options(options.get("min_count", 1), options.get("n_hash"))
    jobs, seed = options.get("n_jobs", 1), options.get("random_state", 0)
    if not is_number(jobs, Integral) or jobs == 0:
        raise ValueError(f"n_jobs must be a number of threads, or -1 for all cores, got {jobs!r}")
    if not hasattr(seed, "randint") and not (is_number(seed, Integral) and 0 <= seed < 2**32):
        raise ValueError(f"the seed must be from 0 to {2**32 - 1}, got {seed!r}")


def check_together(learner: Any, template: Template | None = None, constrained: bool = False) -> None:
    """Refuse settings of a learner, a template and a tagger that exclude each other.

    Parameters
    ----------
    learner : CRF, SSVM or Perceptron
        Not fitted yet.
    template : Template, optional
    constrained : bool
        Whether labels shall be valid spans, as `Tagger.train` takes it.

    Raises
    ------
    ValueError, MissingCapability
    """
    from palmette.estimators.regularizers import TAKES_GROUPS, TAKES_PIECES, regularizers
    from palmette.estimators.settings import settings_of

    structure, solver = learner.structure, learner.solver
    if constrained and structure.allowed is not None:
        raise ValueError(
            f"constrained sets what {structure!r:.60} has set already, the labels that may follow each other; "
            "leave one out"
        )
    edges = template is not None and template.has_edge_features
    ruled = constrained or structure.allowed is not None
    pairs = {  # what label pairs may be asked for, and the solvers that cannot serve it
        "constrained chains of second order": (structure.order == 2 and ruled, ("dual",)),
        "chains of second order": (structure.order == 2, ()),
        "labels that are constrained": (ruled, ()),
        "lines of a template such as B01:%x[0,0]": (edges, ("dual",)),
    }
    asked = {what: unable for what, (there, unable) in pairs.items() if there}
    for what, unable in asked.items():
        if isinstance(solver, str) and solver in unable:
            raise ValueError(
                f"solver={solver!r} does not support {what}; leave it out, or use lbfgs or stochastic"
            )
    wanted = next(iter(asked), None)
    if wanted and template is not None and not template.transitions:
        raise ValueError(
            f"{template.source}: {wanted} need label transitions, and the template has none; add a line B"
        )
    n_hash = settings_of(learner, "encoding").n_hash
    if template is not None and edges and n_hash is not None:
        raise ValueError(
            f"{template.source}: lines such as B01:%x[0,0] and n_hash={n_hash} (--hash) exclude each other, "
            "since hashed attributes have no names to tell those of label pairs by; leave one out"
        )
    pieces, groups = regularizers(learner)
    for part, takes in ((pieces, TAKES_PIECES), (groups, TAKES_GROUPS)):
        if part is not None and isinstance(solver, str) and solver not in ("auto", *takes):
            able = [name for name in SOLVERS[type(learner).__name__.lower()] if name in takes]
            raise ValueError(
                f"solver={solver!r} does not support {part!r:.60}; leave it out, or use {' or '.join(able)}"
            )
    if groups is not None and n_hash is not None and groups.by == "template":
        raise ValueError(
            f"n_hash={n_hash} (--hash) leaves no names of attributes, so that groups cannot be those of a "
            "template; group by attribute (--group-by attribute)"
        )
