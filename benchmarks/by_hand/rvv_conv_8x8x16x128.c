// Four pixels by 64 filters of sums in registers, and two groups of registers for weights in turn, as BLIS's kernels for vector machines
// do for products: each vector of weights serves four pixels.
void solution(float inp[1][10][10][16], float weights[3][3][16][128], float output[1][8][8][128]) {
    for (int j = 0; j < 128; j += 64) {
        for (int p = 0; p < 8; p++) {
            for (int q = 0; q < 8; q += 4) {
                for (int x = 0; x < 4; x++) vfmv_v_f(x * 4, 0.0f, 64);
                for (int r = 0; r < 3; r++) {
                    for (int s = 0; s < 3; s++) {
                        for (int c = 0; c < 16; c++) {
                            vle32(16 + c % 2 * 4, &weights[r][s][c][j], 64);
                            for (int x = 0; x < 4; x++) {
                                flw(x + c % 2 * 4, &inp[0][p + r][q + x + s][c]);
                                vfmacc_vf(x * 4, x + c % 2 * 4, 16 + c % 2 * 4, 64);
                            }
                        }
                    }
                }
                for (int x = 0; x < 4; x++) vse32(&output[0][p][q + x][j], x * 4, 64);
            }
        }
    }
    fence();
}
