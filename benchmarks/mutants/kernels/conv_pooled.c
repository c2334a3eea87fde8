// workload: operation: conv2d | accelerator: gemmini | dims: {N: 1, H: 8, W: 9, C: 4, K: 5, R: 3, S: 3} | bias: row | scale: 0.125 | pool: {size: 3, stride: 2, padding: 1}
