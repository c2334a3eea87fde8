// workload: operation: conv2d | accelerator: amx | dims: {N: 1, H: 5, W: 7, C: 8, K: 6, R: 2, S: 3} | result: int32 | layout: {weights: R S C/4 K C%4}
