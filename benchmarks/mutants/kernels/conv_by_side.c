// workload: operation: conv2d | accelerator: gemmini | dims: {N: 1, H: 9, W: 11, C: 6, K: 18, R: 3, S: 2} | stride: [2, 1] | dilation: [1, 2] | padding: [0, 1, 2, 1] | bias: row | scale: 0.0625
