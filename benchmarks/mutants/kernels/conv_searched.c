// workload: operation: conv2d | accelerator: gemmini | dims: {N: 1, H: 10, W: 9, C: 20, K: 18, R: 3, S: 3} | padding: 1 | bias: row | scale: 0.015625
void solution(int8_t inp[1][10][9][20], int8_t weights[3][3][20][18], int32_t bias[1][18], int8_t output[1][10][9][18]) {
    // schedule {"ahead": ["left", "right"], "block": {"i": 1, "j": 2, "k": 2, "p": 5, "r": 3, "s": 1}, "deferred": true, "early": 2, "inner": ["r", "s", "k", "j", "p", "i"], "kept": true, "lead": 8, "level": {"left": 6, "right": 0}, "order": ["p", "i", "j", "r", "s", "k"], "shared": true, "tile": {"i": 9, "j": 16, "k": 16}}
    gemmini_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0);
    config_ld(20, 1.0f, 9, 0);
    config_ld(18, 1.0f, 1);
    config_ld(0, 1.0f, 2);
    config_st(18, 0.015625f);
    int results = 0;
    int result_due = 0;
    int led = 0;
    for (int step = 0; step < 6; step++) {
        const int p_block = step / 3;
        const int s_block = step % 3;
        const int p_block_next = (step + 1) / 3 % 2;
        const int s_block_next = (step + 1) % 3;
        int done = 0;
        if (s_block == 0) {
            results = 0;
            result_due = 0;
        }
        int left_loads = 0;
        int left_load_due = 0;
        const int left_load_moves = step < 5 ? 7 : 0;
        int right_loads = 0;
        int right_load_due = 0;
        const int right_load_moves = step < 5 && p_block_next == 0 ? 6 : 0;
        for (int r = 0; r < 3; r++) {
            for (int k = 0; k < 2; k++) {
                for (int j = 0; j < 2; j++) {
                    int fresh = 1;
                    for (int p = 0; p < 5; p++) {
                        if (step == 0) {
                            for (; led <= done + 8 && led < 60; led++) {
                                const int p_led = led % 5;
                                const int j_led = led / 5 % 2;
                                const int k_led = led / 10 % 2;
                                const int r_led = led / 20 % 3;
                                if (j_led == 0 && k_led % 2 == 0 && (r_led < 1 || p_led == 4)) {
                                    {
                                        const int first = s_block - 1 < 0 ? 1 - s_block : 0;
                                        const int rows = (10 - s_block < 9 ? 10 - s_block : 9) - first;
                                        if (r_led + p_block * 5 + p_led - 1 >= 0 && r_led + p_block * 5 + p_led - 1 < 10) {
                                            mvin(&inp[0][r_led + p_block * 5 + p_led - 1][s_block + first - 1][k_led * 16], k_led * 9 + p_led * 18 + r_led * 18 + first, 20 - k_led * 16 < 32 ? 20 - k_led * 16 : 32, rows);
                                        }
                                    }
                                }
                                if (p_led == 0 && j_led % 2 == 0) {
                                    mvin2(&weights[r_led][s_block][k_led * 16][j_led * 16], j_led * 16 + k_led * 32 + r_led * 64 + s_block % 2 * 4096 + s_block / 2 * 192 + 8192, 18 - j_led * 16 < 32 ? 18 - j_led * 16 : 32, k_led == 1 ? 4 : 16);
                                }
                                if (r_led == 0 && k_led == 0) {
                                    mvin3(&bias[0][j_led * 16], 0x80000000 + j_led * 16 + p_led * 32, j_led == 1 ? 2 : 16, 9);
                                }
                            }
                        }
                        done++;
                        for (result_due += 6; result_due >= 180; result_due -= 180) {
                            const int p_moved = results % 5;
                            if (step >= 3 && results < 5) {
                                mvout(&output[0][p_moved][0][0], 0x80000000 + p_moved * 32 + (step + 3) / 3 % 2 * 512, 18, 9);
                            }
                            if (step < 3 && results > 0) {
                                const int p_begun = (results - 1) % 5;
                                for (int j_one = 0; j_one < 2; j_one++) {
                                    mvin3(&bias[0][j_one * 16], 0x80000000 + j_one * 16 + p_begun * 32 + (step + 3) / 3 % 2 * 512, j_one == 1 ? 2 : 16, 9);
                                }
                            }
                            results++;
                        }
                        for (left_load_due += left_load_moves; left_load_due >= 58 && left_loads < left_load_moves; left_load_due -= 58) {
                            {
                                const int first = s_block_next - 1 < 0 ? 1 - s_block_next : 0;
                                const int rows = (10 - s_block_next < 9 ? 10 - s_block_next : 9) - first;
                                if (left_loads + p_block_next * 5 - 1 >= 0 && left_loads + p_block_next * 5 - 1 < 10) {
                                    mvin(&inp[0][left_loads + p_block_next * 5 - 1][s_block_next + first - 1][0], left_loads * 18 + (step + 1) % 2 * 4096 + first, 20, rows);
                                }
                            }
                            left_loads++;
                        }
                        for (right_load_due += right_load_moves; right_load_due >= 58 && right_loads < right_load_moves; right_load_due -= 58) {
                            const int k_moved = right_loads % 2;
                            const int r_moved = right_loads / 2;
                            mvin2(&weights[r_moved][s_block_next][k_moved * 16][0], k_moved * 32 + r_moved * 64 + s_block_next % 2 * 4096 + s_block_next / 2 * 192 + 8192, 18, k_moved == 1 ? 4 : 16);
                            right_loads++;
                        }
                        const int first = s_block - 1 < 0 ? 1 - s_block : 0;
                        const int rows = (10 - s_block < 9 ? 10 - s_block : 9) - first;
                        if (r + p_block * 5 + p - 1 >= 0 && r + p_block * 5 + p - 1 < 10) {
                            gemmini_extended_preload(fresh ? j * 16 + k * 32 + r * 64 + s_block % 2 * 4096 + s_block / 2 * 192 + 8192 : 0xffffffff, 0xc0000000 + j * 16 + p * 32 + step / 3 * 512 + first, j == 1 ? 2 : 16, k == 1 ? 4 : 16, j == 1 ? 2 : 16, rows);
                            if (fresh) {
                                compute_preloaded(k * 9 + p * 18 + r * 18 + step % 2 * 4096 + first, 0xffffffff, k == 1 ? 4 : 16, rows, 16, 8);
                            } else {
                                compute_accumulated(k * 9 + p * 18 + r * 18 + step % 2 * 4096 + first, 0xffffffff, k == 1 ? 4 : 16, rows, 16, 8);
                            }
                            fresh = 0;
                        }
                    }
                }
            }
        }
    }
    for (int p = 0; p < 5; p++) {
        mvout(&output[0][p + 5][0][0], 0x80000200 + p * 32, 18, 9);
    }
    gemmini_fence();
}
