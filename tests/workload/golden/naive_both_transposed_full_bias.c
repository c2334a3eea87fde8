void solution(int8_t A[48][5], int8_t B[32][48], int32_t bias[5][32], int8_t C[5][32]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(OUTPUT_STATIONARY, NO_ACTIVATION, 1, true, true);
    config_ld(5, 1.0f, DIM, 0);
    config_ld(48, 1.0f, DIM, 1);
    config_ld(128, 1.0f, DIM, 2);
    config_st(32);
    for (int i = 0; i < 5; i += 16) {
        const int rows = 5 - i < 16 ? 5 - i : 16;
        for (int j = 0; j < 32; j += 16) {
            mvin3(&bias[i][j], c_tile, 16, rows);
            for (int k = 0; k < 48; k += 16) {
                mvin(&A[k][i], a_tile, rows, 16);
                mvin2(&B[j][k], b_tile, 16, 16);
                preload(0xffffffff, c_tile | 0x40000000, 16, 16, 16, rows);
                compute_preloaded(a_tile, b_tile, 16, rows, 16, 16);
            }
            mvout(&C[i][j], c_tile, 16, rows);
        }
    }
    fence();
}
