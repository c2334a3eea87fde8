"""Text from files, endpoints and kernels, as it may reach a terminal."""

from __future__ import annotations

import re

# All control characters but line ends and tabs, marks that change the direction of text or hide in it, and halves of
# surrogate pairs: what moves a cursor, sets a title, hides a line or makes a text look like another.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with an escape, as in Python, for each character that is not seen as itself."""
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text)
