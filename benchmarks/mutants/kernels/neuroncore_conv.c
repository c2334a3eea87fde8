// workload: operation: conv2d | accelerator: neuroncore | dtype: bfloat16 | dims: {N: 1, H: 5, W: 6, C: 6, K: 8, R: 2, S: 2} | layout: {inp: N C H W}
