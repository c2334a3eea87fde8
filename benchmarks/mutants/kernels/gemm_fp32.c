// workload: operation: gemm | accelerator: gemmini:fp32 | dtype: float32 | dims: {I: 8, J: 12, K: 20} | bias: row
