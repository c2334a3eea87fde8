module @jit_i8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x64xi8>, %arg1: tensor<48x64xi8>) -> (tensor<32x48xi32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xi8>, tensor<48x64xi8>) -> tensor<32x48xi32>
    return %0 : tensor<32x48xi32>
  }
}
