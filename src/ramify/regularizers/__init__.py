"""Regularisers: what keeps weights small and structures simple."""

from ramify.regularizers.decomposition import Decomposition
from ramify.regularizers.elastic import ElasticNet
from ramify.regularizers.group_lasso import GroupLasso
from ramify.regularizers.grouped import GroupedElasticNet

__all__ = ["Decomposition", "ElasticNet", "GroupLasso", "GroupedElasticNet"]
