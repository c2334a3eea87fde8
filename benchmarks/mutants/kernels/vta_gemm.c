// workload: operation: gemm | accelerator: vta | dims: {I: 20, J: 32, K: 32} | layout: {B: J/16 K/16 J%16 K%16}
