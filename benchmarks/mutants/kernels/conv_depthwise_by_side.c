// workload: operation: conv2d | accelerator: gemmini | dims: {N: 2, H: 5, W: 18, C: 3, K: 6, R: 3, S: 3} | groups: 3 | stride: [1, 2] | padding: [1, 0, 1, 2] | activation: relu | scale: 0.0625
