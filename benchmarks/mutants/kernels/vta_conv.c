// workload: operation: conv2d | accelerator: vta | dims: {N: 1, H: 6, W: 6, C: 16, K: 32, R: 2, S: 2} | layout: {weights: R S K/16 C/16 K%16 C%16} | stride: [1, 2]
