// workload: operation: gemm | accelerator: tiny | dims: {I: 7, J: 9, K: 10} | activation: relu | scale: 0.5
