// workload: operation: gemm | accelerator: gemmini | dims: {I: 24, J: 20, K: 40} | bias: row | activation: relu | scale: 0.125
