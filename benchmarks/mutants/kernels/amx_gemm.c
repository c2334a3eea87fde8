// workload: operation: gemm | accelerator: amx | dims: {I: 20, J: 24, K: 72} | result: int32 | layout: {B: K/4 J K%4}
