"""Drop-in replacements for other libraries: existing scripts run after changing one import.

``from palmette.compat import CRF`` takes the place of ``from sklearn_crfsuite import CRF``;
``palmette.compat.metrics``, ``palmette.compat.scorers`` and ``palmette.compat.utils`` those of the same names.
"""

from palmette.compat.crf import CRF

__all__ = ["CRF"]
