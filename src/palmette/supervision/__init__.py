"""Learning from cheap data: transfer between domains."""

from palmette.supervision.transfer import Transfer
from palmette.supervision.transfer_comparison import TransferComparison, compare_transfer

__all__ = ["Transfer", "TransferComparison", "compare_transfer"]
