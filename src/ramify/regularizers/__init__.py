"""Regularisers: what keeps weights small."""

from ramify.regularizers.elastic import ElasticNet

__all__ = ["ElasticNet"]
