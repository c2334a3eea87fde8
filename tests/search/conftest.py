"""Lets the tests, and the worker processes they start, import `toy_search`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
