// workload: operation: gemm | accelerator: gemmini | dims: {I: 40, J: 35, K: 50} | bias: row | activation: relu | scale: 0.0625
void solution(int8_t A[40][50], int8_t B[50][35], int32_t bias[1][35], int8_t C[40][35]) {
    // schedule {"ahead": ["left", "right"], "block": {"i": 1, "j": 3, "k": 4}, "deferred": true, "early": 8, "inner": ["k", "j", "i"], "kept": true, "lead": 8, "level": {"left": 3, "right": 0}, "order": ["i", "j", "k"], "short_first": true, "tile": {"i": 16, "j": 16, "k": 16}}
    gemmini_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0);
    gemmini_config_ld(50);
    config_ld(35, 1.0f, 1);
    config_ld(0, 1.0f, 2);
    gemmini_extended_config_st(35, RELU, 0.0625f);
    int led = 0;
    for (int step = 0; step < 3; step++) {
        const int i_block_next = (step + 1) % 3;
        const int i_block_last = step < 1 ? 0 : step - 1;
        const int i_block_then = (step + 1) % 3;
        int done = 0;
        int results = 0;
        int result_due = 0;
        int left_loads = 0;
        int left_load_due = 0;
        const int left_load_moves = step < 2 ? 1 : 0;
        int right_loads = 0;
        int right_load_due = 0;
        const int right_load_moves = step < 2 && i_block_next == 0 ? 4 : 0;
        for (int k = 0; k < 4; k++) {
            for (int j = 0; j < 3; j++) {
                if (step == 0) {
                    for (; led <= done + 8 && led < 12; led++) {
                        const int j_led = led % 3;
                        const int k_led = led / 3 % 4;
                        if (j_led == 0 && k_led % 4 == 0) {
                            mvin(&A[step * 16][k_led * 16], k_led * 16, 50 - k_led * 16 < 64 ? 50 - k_led * 16 : 64, step == 2 ? 8 : 16);
                        }
                        if (j_led % 3 == 0) {
                            mvin2(&B[k_led * 16][j_led * 16], j_led * 16 + k_led * 48 + 8192, 35 - j_led * 16 < 48 ? 35 - j_led * 16 : 48, k_led == 3 ? 2 : 16);
                        }
                        if (k_led == 0) {
                            mvin3(&bias[0][j_led * 16], 0x80000000 + j_led * 16, j_led == 2 ? 3 : 16, step == 2 ? 8 : 16);
                        }
                    }
                }
                done++;
                for (result_due += 2; result_due >= 12; result_due -= 12) {
                    if (step >= 1 && results < 1) {
                        mvout(&C[i_block_last * 16][0], 0x80000000 + (step + 1) % 2 * 512, 35, 16);
                    }
                    if (step < 2 && results > 0) {
                        for (int j_one = 0; j_one < 3; j_one++) {
                            mvin3(&bias[0][j_one * 16], 0x80000000 + j_one * 16 + (step + 1) % 2 * 512, j_one == 2 ? 3 : 16, i_block_then == 2 ? 8 : 16);
                        }
                    }
                    results++;
                }
                for (left_load_due += left_load_moves; left_load_due >= 6 && left_loads < left_load_moves; left_load_due -= 6) {
                    mvin(&A[i_block_next * 16][left_loads * 64], left_loads * 64 + (step + 1) % 2 * 4096, 50 - left_loads * 64 < 64 ? 50 - left_loads * 64 : 64, i_block_next == 2 ? 8 : 16);
                    left_loads++;
                }
                for (right_load_due += right_load_moves; right_load_due >= 6 && right_loads < right_load_moves; right_load_due -= 6) {
                    mvin2(&B[right_loads * 16][0], right_loads * 48 + 8192, 35, right_loads == 3 ? 2 : 16);
                    right_loads++;
                }
                gemmini_extended_preload(j * 16 + k * 48 + 8192, 0xc0000000 + j * 16 + step % 2 * 512, j == 2 ? 3 : 16, k == 3 ? 2 : 16, j == 2 ? 3 : 16, step == 2 ? 8 : 16);
                compute_preloaded(k * 16 + step % 2 * 4096, 0xffffffff, k == 3 ? 2 : 16, step == 2 ? 8 : 16, 16, 16);
            }
        }
    }
    mvout(&C[32][0], 0x80000000, 35, 8);
    gemmini_fence();
}
