// workload: tinympc_forward
