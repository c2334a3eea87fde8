"""GPUs as a target: kernels in Triton's Python, judged and timed by a worker process beside the device.

Nothing here imports torch or triton; that is left to the worker (`autocomp.targets.triton.worker`).
"""
