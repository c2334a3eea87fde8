import numpy as np


def shift(x):
    """Each byte, and 3."""
    return {"y": (x + np.int8(3)).astype(np.int8)}
