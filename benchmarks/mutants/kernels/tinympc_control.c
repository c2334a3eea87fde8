// workload: tinympc_control
