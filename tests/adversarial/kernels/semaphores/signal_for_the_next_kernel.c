// A signal after the last load lets the next kernel compute before its operands are there.
// workload: tiny
// refused: and nothing waits for that before the kernel returns
void solution(int8_t A[8][12], int8_t B[12][8], int32_t bias[1][8], int8_t C[8][8]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 4;
    const uint32_t c_tile = 0;
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 8; j += 4) {
            load_sum(&bias[0][j], c_tile, 0, 4, 4);
            load_signal(LOADED);
            compute_wait(LOADED);
            for (int k = 0; k < 12; k += 4) {
                load_tile(&A[i][k], a_tile, 12, 4, 4);
                load_tile(&B[k][j], b_tile, 8, 4, 4);
                load_signal(LOADED);
                compute_wait(LOADED);
                contract(a_tile, b_tile, c_tile, 4, 4, 4, 1, false, false);
                compute_signal(USED);
                load_wait(USED);
            }
            compute_signal(SUMMED);
            store_wait(SUMMED);
            store_tile(&C[i][j], c_tile, 8, 4, 4, 1.0f, false);
            store_signal(STORED);
            load_wait(STORED);
        }
    }
    load_signal(LOADED);
    fence();
}
