// workload: operation: gemm | accelerator: gemmini | dims: {I: 18, J: 17, K: 20} | transpose_a: true
