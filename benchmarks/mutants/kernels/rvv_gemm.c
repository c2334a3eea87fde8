// workload: operation: gemm | accelerator: rvv | dtype: float32 | dims: {I: 5, J: 40, K: 7}
