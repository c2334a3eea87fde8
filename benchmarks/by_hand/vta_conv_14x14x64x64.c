// The image and all weights stay in their buffers; so nothing is overwritten, and loads and products leave one kind of token each. During
// each line of results come the next line of the image and a block of the next filters' weights, which the line after waits for.
void solution(int8_t inp[1][16][16][64], int8_t weights[3][3][4][4][16][16], int8_t output[1][14][14][64]) {
    load_input(&inp[0][0][0][0], 0, 3, 64, 64);
    for (int t = 0; t < 9; t++) {
        load_weight(&weights[t / 3][t % 3][0][0][0][0], 4 * t, 1, 4, 1);
        load_signal(LOAD_TO_COMPUTE);
    }
    for (int k = 0; k < 4; k++) {
        for (int p = 0; p < 14; p++) {
            if (k == 0 && p < 13) load_input(&inp[0][p + 3][0][0], 64 * (p + 3), 1, 64, 64);
            if (k < 3 && p < 9) load_weight(&weights[p / 3][p % 3][k + 1][0][0][0], 36 * (k + 1) + 4 * p, 1, 4, 1);
            if ((k == 0 && p < 13) || (k < 3 && p < 9)) load_signal(LOAD_TO_COMPUTE);
            if ((k == 0 && p > 0) || (0 < k && k < 3 && 0 < p && p < 10)) compute_depend(LOAD_TO_COMPUTE);
            for (int t = 0; t < 9; t++) {
                if (k == 0 && p == 0) compute_depend(LOAD_TO_COMPUTE);
                for (int c = 0; c < 4; c++)
                    gemm_rows(196 * k + 14 * p, 64 * (p + t / 3) + 4 * (t % 3) + c, 36 * k + 4 * t + c, 14, 4, t + c > 0);
            }
            alu_max(196 * k + 14 * p, 14, -128);
            alu_min(196 * k + 14 * p, 14, 127);
            compute_signal(COMPUTE_TO_STORE);
            store_depend(COMPUTE_TO_STORE);
            store_result(&output[0][p][0][16 * k], 196 * k + 14 * p, 14, 1, 4);
        }
    }
    fence();
}
