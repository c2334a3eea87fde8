// workload: operation: gemm | accelerator: tiny | dims: {I: 8, J: 8, K: 12} | bias: row
