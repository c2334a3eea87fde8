// Sums of the first column are not moved past the padding.
// workload: depthwise
// refused: elements of output are wrong
void solution(int8_t inp[1][6][18][3], int8_t weights[3][3][1][3], int32_t bias[1][3], int8_t output[1][6][18][3]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(3, 1.0f, DIM, 0);
    config_ld(3, 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    gemmini_extended_config_st(3, NO_ACTIVATION, 0.0625f);
    for (int n = 0; n < 1; n++) {
        for (int p = 0; p < 6; p++) {
            for (int q = 0; q < 18; q += 16) {
                const int rows = 18 - q < 16 ? 18 - q : 16;
                for (int g = 0; g < 3; g++) {
                    for (int k = 0; k < 1; k += 16) {
                        const int cols = 1 - k < 16 ? 1 - k : 16;
                        mvin3(&bias[0][g + k], c_tile, cols, rows);
                        for (int r = 0; r < 3; r++) {
                            const int y = p + r - 1;
                            if (y >= 0 && y < 6) {
                                for (int s = 0; s < 3; s++) {
                                    const int x = q + s - 1;
                                    const int first_pixel = x < 0 ? -x : 0;
                                    const int end_pixel = 18 - x < rows ? 18 - x : rows;
                                    const int pixels = end_pixel - first_pixel;
                                    if (pixels > 0) {
                                        for (int c = 0; c < 1; c += 16) {
                                            const int depth = 1 - c < 16 ? 1 - c : 16;
                                            mvin(&inp[n][y][x + first_pixel][g + c], a_tile, depth, pixels);
                                            mvin2(&weights[r][s][c][g + k], b_tile, cols, depth);
                                            preload(b_tile, c_tile | 0x40000000, cols, depth, cols, pixels);
                                            compute_preloaded(a_tile, 0xffffffff, depth, pixels, cols, pixels);
                                        }
                                    }
                                }
                            }
                        }
                        mvout(&output[n][p][q][g + k], c_tile, cols, rows);
                    }
                }
            }
        }
    }
    fence();
}
