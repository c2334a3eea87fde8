void solution(int8_t inp[1][10][10][6], int8_t weights[3][3][6][10], int32_t bias[1][10], int8_t output[1][10][10][10]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 4;
    const uint32_t c_tile = 0;
    for (int n = 0; n < 1; n++) {
        for (int p = 0; p < 10; p++) {
            for (int q = 0; q < 10; q += 4) {
                const int rows = 10 - q < 4 ? 10 - q : 4;
                for (int k = 0; k < 10; k += 4) {
                    const int cols = 10 - k < 4 ? 10 - k : 4;
                    load_sum(&bias[0][k], c_tile, 0, cols, rows);
                    load_signal(LOADED);
                    compute_wait(LOADED);
                    for (int r = 0; r < 3; r++) {
                        const int y = p + r - 1;
                        if (y >= 0 && y < 10) {
                            for (int s = 0; s < 3; s++) {
                                const int x = q + s - 1;
                                const int first_pixel = x < 0 ? -x : 0;
                                const int end_pixel = 10 - x < rows ? 10 - x : rows;
                                const int pixels = end_pixel - first_pixel;
                                if (pixels > 0) {
                                    for (int c = 0; c < 6; c += 4) {
                                        const int depth = 6 - c < 4 ? 6 - c : 4;
                                        load_tile(&inp[n][y][x + first_pixel][c], a_tile, 6, depth, pixels);
                                        load_tile(&weights[r][s][c][k], b_tile, 10, cols, depth);
                                        load_signal(LOADED);
                                        compute_wait(LOADED);
                                        contract(a_tile, b_tile, c_tile + first_pixel, cols, pixels, depth, 1, false, false);
                                        compute_signal(USED);
                                        load_wait(USED);
                                    }
                                }
                            }
                        }
                    }
                    compute_signal(SUMMED);
                    store_wait(SUMMED);
                    store_tile(&output[n][p][q][k], c_tile, 10, cols, rows, 0.03125f, true);
                    store_signal(STORED);
                    load_wait(STORED);
                }
            }
        }
    }
    fence();
}
