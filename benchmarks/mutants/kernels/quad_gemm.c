// workload: operation: gemm | accelerator: quad | dims: {I: 12, J: 10, K: 9}
