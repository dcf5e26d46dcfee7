"""Stand-ins for other libraries, so that existing scripts run after changing one import.

``from ramify.compat import CRF`` takes the place of ``from sklearn_crfsuite import CRF``; ``ramify.compat.metrics``,
``ramify.compat.scorers`` and ``ramify.compat.utils`` that of the modules of the same names.
"""

from ramify.compat.crf import CRF

__all__ = ["CRF"]
