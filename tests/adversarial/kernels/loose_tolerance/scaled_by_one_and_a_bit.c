// Results times the number next to 1.
// workload: deep
// refused: elements of C are wrong
void solution(float A[4][8192], float B[8192][4], float C[4][4]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 4;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(32768, 1.0f, DIM, 0);
    config_ld(16, 1.0f, DIM, 1);
    config_st(16, 1.0000001f);
    for (int i = 0; i < 4; i += 4) {
        for (int j = 0; j < 4; j += 4) {
            for (int k = 0; k < 8192; k += 4) {
                mvin(&A[i][k], a_tile, 4, 4);
                mvin2(&B[k][j], b_tile, 4, 4);
                preload(b_tile, k == 0 ? c_tile : c_tile | 0x40000000, 4, 4, 4, 4);
                compute_preloaded(a_tile, 0xffffffff, 4, 4, 4, 4);
            }
            mvout(&C[i][j], c_tile, 4, 4);
        }
    }
    fence();
}
