// Blocks of weights are taken in the order of the other dimension.
// workload: vta
// refused: elements of C are wrong
void solution(int8_t A[20][32], int8_t B[2][2][16][16], int8_t C[20][32]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 0;
    const uint32_t c_tile = 0;
    for (int i = 0; i < 20; i += 512) {
        const int rows = 20 - i < 512 ? 20 - i : 512;
        for (int j = 0; j < 32; j += 16) {
            for (int k = 0; k < 32; k += 16) {
                load_input(&A[i][k], a_tile, rows, 1, 32 / 16);
                load_weight(&B[k / 16][j / 16][0][0], b_tile, 1, 1, 1);
                load_signal(LOAD_TO_COMPUTE);
                compute_depend(LOAD_TO_COMPUTE);
                gemm_rows(c_tile, a_tile, b_tile, rows, 1, k == 0 ? 0 : 1);
                compute_signal(COMPUTE_TO_LOAD);
                load_depend(COMPUTE_TO_LOAD);
            }
            alu_max(c_tile, rows, -128);
            alu_min(c_tile, rows, 127);
            compute_signal(COMPUTE_TO_STORE);
            store_depend(COMPUTE_TO_STORE);
            store_result(&C[i][j], c_tile, rows, 1, 32 / 16);
            store_signal(STORE_TO_COMPUTE);
            compute_depend(STORE_TO_COMPUTE);
        }
    }
    fence();
}
