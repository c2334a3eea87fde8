// workload: operation: conv2d | accelerator: gemmini | dims: {N: 1, H: 5, W: 6, C: 6, K: 6, R: 2, S: 2} | groups: 3 | dilation: 2
