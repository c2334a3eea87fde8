// workload: operation: conv2d | accelerator: rvv | dtype: float32 | dims: {N: 1, H: 5, W: 6, C: 3, K: 20, R: 2, S: 3} | padding: [1, 0, 0, 1]
