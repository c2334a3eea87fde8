"""`python -m autocomp.targets.triton.worker`: a worker on standard input and output."""

import sys

try:
    from autocomp.targets.triton.worker.serve import main
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] == "autocomp":
        raise
    sys.exit(f"{sys.executable} has no package {error.name!r}; install it there with: pip install 'autocomp[triton]'")

main()
