// workload: operation: conv2d | accelerator: tiny | dims: {N: 1, H: 5, W: 5, C: 4, K: 4, R: 2, S: 2} | scale: 0.25
