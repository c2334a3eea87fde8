void solution(int8_t A[512][512], int8_t B[512][512], int8_t C[512][512]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(512, 1.0f, DIM, 0);
    config_ld(512, 1.0f, DIM, 1);
    config_st(512);
    for (int i = 0; i < 512; i += 16) {
        for (int j = 0; j < 512; j += 16) {
            for (int k = 0; k < 512; k += 16) {
                mvin(&A[i][k], a_tile, 16, 16);
                mvin2(&B[k][j], b_tile, 16, 16);
                preload(b_tile, k == 0 ? c_tile : c_tile | 0x40000000, 16, 16, 16, 16);
                compute_preloaded(a_tile, 0xffffffff, 16, 16, 16, 16);
            }
            mvout(&C[i][j], c_tile, 16, 16);
        }
    }
    fence();
}
