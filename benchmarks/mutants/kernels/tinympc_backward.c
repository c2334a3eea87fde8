// workload: tinympc_backward
