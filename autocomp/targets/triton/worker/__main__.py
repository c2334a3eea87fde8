"""`python -m autocomp.targets.triton.worker`: a worker on standard input and output."""

from autocomp.targets.triton.worker.serve import main

main()
