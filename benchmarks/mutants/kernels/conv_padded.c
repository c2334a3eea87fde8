// workload: operation: conv2d | accelerator: gemmini | dims: {N: 1, H: 6, W: 7, C: 5, K: 6, R: 3, S: 3} | padding: 1 | stride: 2 | bias: row | activation: relu | scale: 0.125
