// workload: operation: gemm | accelerator: tpu_v1 | set: {UB_KB: 96, ACC_KB: 64} | dims: {I: 12, J: 10, K: 9} | scale: 0.25
