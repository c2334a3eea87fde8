// workload: operation: gemm | accelerator: tiny | dims: {I: 12, J: 16, K: 12} | scale: 0.25
void solution(int8_t A[12][12], int8_t B[12][16], int8_t C[12][16]) {
    for (int j_block = 0; j_block < 2; j_block++) {
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 2; j++) {
                load_tile(&B[k * 4][j_block * 8 + j * 4], j * 4 + k * 16 + j_block * 8 + 36, 16, 4, 4);
            }
        }
    }
    for (int i_block = 0; i_block < 3; i_block++) {
        for (int k = 0; k < 3; k++) {
            load_tile(&A[i_block * 4][k * 4], i_block * 12 + k * 4, 12, 4, 4);
        }
    }
    load_signal(LOADED);
    compute_wait(LOADED);
    for (int step = 0; step < 6; step++) {
        const int i_block = step / 2;
        const int j_block = step % 2;
        const int step_last = (step + 5) % 6;
        const int i_block_last = step_last / 2;
        const int j_block_last = step_last % 2;
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 2; j++) {
                if (step > 0 && j == 1) {
                    if (k < 2) {
                        store_tile(&C[i_block_last * 4][j_block_last * 8 + k * 4], k * 4 + step_last % 2 * 8, 16, 4, 4, 0.25f, false);
                    }
                }
                contract(i_block * 12 + k * 4, j * 4 + k * 16 + j_block * 8 + 36, j * 4 + step % 2 * 8, 4, 4, 4, k == 0 ? 0 : 1, false, false);
            }
        }
        compute_signal(SUMMED);
        store_wait(SUMMED);
        store_signal(STORED);
        compute_wait(STORED);
    }
    for (int j = 0; j < 2; j++) {
        store_tile(&C[8][j * 4 + 8], j * 4 + 8, 16, 4, 4, 0.25f, false);
    }
    compute_signal(USED);
    load_wait(USED);
    fence();
}
