"""Lets the tests import `toy_search` of tests/search."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "search"))
