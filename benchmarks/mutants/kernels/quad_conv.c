// workload: operation: conv2d | accelerator: quad | dims: {N: 1, H: 5, W: 6, C: 5, K: 6, R: 2, S: 3} | bias: row | activation: relu
