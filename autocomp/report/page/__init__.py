"""The page of a run: one HTML file that needs no network, or the same page served while the search runs."""

from autocomp.report.page.html import render
from autocomp.report.page.server import LOOPBACK, serve
from autocomp.report.page.write import write_page

__all__ = ["LOOPBACK", "render", "serve", "write_page"]
