// workload: tiny_add
