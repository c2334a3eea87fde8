"""The kinds of values that inputs are drawn of, and the data types that they are drawn in."""

from __future__ import annotations

from typing import Literal

Kind = Literal["random", "centred", "wide", "sparse", "constant", "zeros", "infinite"]
VALUES: tuple[Kind, ...] = ("centred", "wide", "sparse", "constant", "zeros")
IN_PLACE_OF = {"bfloat16": "float16"}  # Triton's interpreter multiplies bfloat16 as if it were integers
