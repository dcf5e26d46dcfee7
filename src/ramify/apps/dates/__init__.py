"""Reading handwritten dates: the demo."""

from ramify.apps.dates.data import Dates, make_dates
from ramify.apps.dates.demo import run_demo
from ramify.apps.dates.report import DemoReport

__all__ = ["Dates", "DemoReport", "make_dates", "run_demo"]
