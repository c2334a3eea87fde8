// workload: operation: gemm | accelerator: gemmini | dims: {I: 20, J: 18, K: 33} | result: int32 | bias: full
