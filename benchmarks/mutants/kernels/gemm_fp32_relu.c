// workload: operation: gemm | accelerator: gemmini:fp32 | dtype: float32 | dims: {I: 6, J: 9, K: 14} | activation: relu | scale: 0.3
