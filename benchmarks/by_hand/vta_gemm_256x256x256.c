// Blocks of all rows and four columns of tiles. While the multiplier works on four tiles of the depth, the operands of the next four come
// into the other half of their buffers. Two blocks of sums take turns, so that one is stored beside the products of the other.
void solution(int8_t A[256][256], int8_t B[16][16][16][16], int8_t C[256][256]) {
    for (int step = 0; step <= 16; step++) {
        const int last = step - 1;
        const int sums = last / 4 % 2 * 1024;
        if (step < 16) {
            if (step >= 2) load_depend(COMPUTE_TO_LOAD);
            load_input(&A[0][step % 4 * 64], step % 2 * 1024, 256, 4, 16);
            load_weight(&B[step / 4 * 4][step % 4 * 4][0][0], step % 2 * 16, 4, 4, 16);
            load_signal(LOAD_TO_COMPUTE);
        }
        if (step > 0) {
            if (last % 4 == 0 && last >= 8) compute_depend(STORE_TO_COMPUTE);
            compute_depend(LOAD_TO_COMPUTE);
            for (int j = 0; j < 4; j++) {
                for (int k = 0; k < 4; k++) {
                    gemm_rows(sums + j * 256, last % 2 * 1024 + k, last % 2 * 16 + j * 4 + k, 256, 4, last % 4 + k > 0);
                }
            }
            compute_signal(COMPUTE_TO_LOAD);
            if (last % 4 == 3) {
                for (int j = 0; j < 4; j++) {
                    alu_max(sums + j * 256, 256, -128);
                    alu_min(sums + j * 256, 256, 127);
                    compute_signal(COMPUTE_TO_STORE);
                    store_depend(COMPUTE_TO_STORE);
                    store_result(&C[0][last / 4 * 64 + j * 16], sums + j * 256, 256, 1, 16);
                }
                store_signal(STORE_TO_COMPUTE);
            }
        }
    }
    for (int half = 0; half < 2; half++) {
        load_depend(COMPUTE_TO_LOAD);
        compute_depend(STORE_TO_COMPUTE);
    }
    fence();
}
