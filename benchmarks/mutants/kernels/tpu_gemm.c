// workload: operation: gemm | accelerator: tpu_v1 | dims: {I: 12, J: 10, K: 9} | scale: 0.25
