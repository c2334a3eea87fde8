"""Kernels written out: commands one after another, with the rows and bytes that each touches known exactly.

`execution` computes everything that does not depend on data, `footprint` what one command touches, `program` the
steps of a kernel and their dependences; the transformations on them are the other modules.
"""
