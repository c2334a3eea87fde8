// workload: operation: gemm | accelerator: vta | dims: {I: 32, J: 48, K: 64} | layout: {B: J/16 K/16 J%16 K%16}
void solution(int8_t A[32][64], int8_t B[3][4][16][16], int8_t C[32][48]) {
    // schedule {"ahead": ["left", "right"], "block": {"i": 1, "j": 2, "k": 2}, "deferred": true, "inner": ["k", "j", "i"], "lead": 8, "level": {"left": 0, "right": 1}, "order": ["j", "i", "k"], "tile": {"i": 16, "j": 1, "k": 1}}
    int results = 0;
    int result_due = 0;
    for (int step = 0; step < 8; step++) {
        const int j_block = step / 4;
        const int i_block = step / 2 % 2;
        const int k_block = step % 2;
        const int j_tiles = 3 - j_block * 2 < 2 ? 3 - j_block * 2 : 2;
        const int j_block_next = (step + 1) / 4 % 2;
        const int i_block_next = (step + 1) / 2 % 2;
        const int k_block_next = (step + 1) % 2;
        const int j_tiles_next = 3 - j_block_next * 2 < 2 ? 3 - j_block_next * 2 : 2;
        const int j_block_last = (step < 2 ? 0 : step - 2) / 4;
        const int i_block_last = (step < 2 ? 0 : step - 2) / 2 % 2;
        const int j_tiles_last = 3 - j_block_last * 2 < 2 ? 3 - j_block_last * 2 : 2;
        if (step > 0) {
            compute_signal(COMPUTE_TO_LOAD);
            load_depend(COMPUTE_TO_LOAD);
        }
        if (step > 0) {
            load_signal(LOAD_TO_COMPUTE);
            compute_depend(LOAD_TO_COMPUTE);
        }
        if (step > 0 && k_block == 0) {
            store_signal(STORE_TO_COMPUTE);
            compute_depend(3);
        }
        if (k_block == 0) {
            results = 0;
            result_due = 0;
        }
        const int result_moves = step >= 2 ? j_tiles_last : 0;
        int left_loads = 0;
        int left_load_due = 0;
        const int left_load_moves = step < 7 && j_block_next == 0 ? 2 : 0;
        int right_loads = 0;
        int right_load_due = 0;
        const int right_load_moves = step < 7 && i_block_next == 0 ? j_tiles_next * 2 : 0;
        for (int k = 0; k < 2; k++) {
            for (int j = 0; j < j_tiles; j++) {
                if (step == 0) {
                    if (j == 0) {
                        load_input(&A[i_block * 16][k_block * 32 + k * 16], k * 16 + k_block * 64 + i_block * 32, 16, 1, 4);
                    }
                    load_weight(&B[j_block * 2 + j][k_block * 2 + k][0][0], k + j * 2 + k_block * 8, 1, 1, 1);
                    load_signal(LOAD_TO_COMPUTE);
                    compute_depend(LOAD_TO_COMPUTE);
                }
                for (result_due += result_moves; result_due >= j_tiles * 4; result_due -= j_tiles * 4) {
                    alu(ALU_MAX, results * 16 + (step + 2) / 2 % 2 * 32, results * 16 + (step + 2) / 2 % 2 * 32, 16, 1, -128, 0, 0, 0, 0);
                    alu(ALU_MIN, results * 16 + (step + 2) / 2 % 2 * 32, results * 16 + (step + 2) / 2 % 2 * 32, 16, 1, 127, 0, 0, 0, 0);
                    compute_signal(COMPUTE_TO_STORE);
                    store_depend(COMPUTE_TO_STORE);
                    store_result(&C[i_block_last * 16][j_block_last * 32 + results * 16], results * 16 + (step + 2) / 2 % 2 * 32, 16, 1, 3);
                    results++;
                }
                for (left_load_due += left_load_moves; left_load_due >= j_tiles * 2; left_load_due -= j_tiles * 2) {
                    load_input(&A[i_block_next * 16][k_block_next * 32 + left_loads * 16], left_loads * 16 + k_block_next * 64 + i_block_next * 32, 16, 1, 4);
                    left_loads++;
                }
                for (right_load_due += right_load_moves; right_load_due >= j_tiles * 2; right_load_due -= j_tiles * 2) {
                    const int k_moved = right_loads % 2;
                    const int j_moved = right_loads / 2;
                    load_weight(&B[j_block_next * 2 + j_moved][k_block_next * 2 + k_moved][0][0], k_moved + j_moved * 2 + k_block_next * 8 + (step + 1) / 4 % 2 * 4, 1, 1, 1);
                    right_loads++;
                }
                gemm_rows(j * 16 + step / 2 % 2 * 32, k * 16 + k_block * 64 + i_block * 32, k + j * 2 + k_block * 8 + step / 4 * 4, 16, 1, k_block * 2 + k == 0 ? 0 : 1);
            }
        }
    }
    alu(ALU_MAX, 32, 32, 16, 1, -128, 0, 0, 0, 0);
    alu(ALU_MIN, 32, 32, 16, 1, 127, 0, 0, 0, 0);
    compute_signal(COMPUTE_TO_STORE);
    store_depend(COMPUTE_TO_STORE);
    store_result(&C[16][32], 32, 16, 1, 3);
    fence();
}
