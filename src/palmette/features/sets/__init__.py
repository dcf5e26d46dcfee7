"""Feature sets by name: what recipes use, for anybody's sentences.

==================  ================================================================================================
`feature_set`       a feature set by its name, for data with given columns
`FeatureSet`        makes the inputs of a learner from sentences; what it learns for that can be kept in model files
`DEFINITIONS`       what the sets contain
==================  ================================================================================================
"""

from palmette.features.sets.definitions import DEFINITIONS, Definition
from palmette.features.sets.feature_set import FeatureSet, feature_set

__all__ = ["DEFINITIONS", "Definition", "FeatureSet", "feature_set"]
