"""`python -m autocomp.targets.triton.recorder`: a request as JSON on standard input, the answer on standard output."""

from autocomp.targets.triton.recorder.run import main

main()
