// workload: mlp
