// workload: operation: gemm | accelerator: gemmini | dims: {I: 17, J: 16, K: 48} | bias: full | scale: 0.5
