// workload: operation: conv2d | accelerator: tpu_v1 | set: {UB_KB: 96, ACC_KB: 64} | dims: {N: 1, H: 5, W: 5, C: 4, K: 6, R: 2, S: 2} | scale: 0.25
