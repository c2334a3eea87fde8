// workload: operation: gemm | accelerator: neuroncore | dtype: bfloat16 | dims: {I: 9, J: 20, K: 130} | transpose_a: true
