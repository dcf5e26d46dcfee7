"""Reading handwritten dates: the demo."""

from palmette.apps.dates.data import Dates, make_dates
from palmette.apps.dates.demo import run_demo
from palmette.apps.dates.report import DemoReport

__all__ = ["Dates", "DemoReport", "make_dates", "run_demo"]
