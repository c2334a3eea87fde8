"""A check of the judge: random changes of correct kernels, none of which it may accept if the result is wrong."""
