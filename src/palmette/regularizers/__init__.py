"""Regularisers of weights and of structures."""

from palmette.regularizers.decomposition import Decomposition
from palmette.regularizers.elastic import ElasticNet
from palmette.regularizers.group_lasso import GroupLasso
from palmette.regularizers.grouped import GroupedElasticNet

__all__ = ["Decomposition", "ElasticNet", "GroupLasso", "GroupedElasticNet"]
