// Sums are cut off at a magnitude that small inputs never reach.
// workload: rvv
// refused: with input set 'extremes'
void solution(float A[5][7], float B[7][40], float C[5][40]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 0;
    const uint32_t c_tile = 8;
    for (int i = 0; i < 5; i += 1) {
        for (int j = 0; j < 40; j += 128) {
            const int cols = 40 - j < 128 ? 40 - j : 128;
            vfmv_v_f(c_tile, 0.0f, cols);
            for (int k = 0; k < 7; k += 1) {
                flw(a_tile, &A[i][k]);
                vle32(b_tile, &B[k][j], cols);
                vfmacc_vf(c_tile, a_tile, b_tile, cols);
            }
            vfmax_vf(c_tile, c_tile, -100000000000.0f, cols);
            vse32(&C[i][j], c_tile, cols);
        }
    }
    fence();
}
