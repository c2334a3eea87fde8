// Blocks of 4 x 4 tiles of sums. While the array works on one step of the depth, the operands of the next one come into the other
// half of the tile memory.
void solution(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {
    for (int step = 0; step <= 256; step++) {
        const int last = step - 1;
        if (step < 256) {
            if (step >= 2) load_wait(USED);
            for (int t = 0; t < 4; t++) {
                load_tile(&A[step / 64 * 16 + t * 4][step % 16 * 4], step % 2 * 16 + t * 4, 64, 4, 4);
                load_tile(&B[step % 16 * 4][step / 16 % 4 * 16 + t * 4], 128 + step % 2 * 16 + t * 4, 64, 4, 4);
            }
            load_signal(LOADED);
        }
        if (step > 0) {
            compute_wait(LOADED);
            for (int j = 0; j < 4; j++) {
                for (int i = 0; i < 4; i++) {
                    contract(last % 2 * 16 + i * 4, 128 + last % 2 * 16 + j * 4, i * 16 + j * 4, 4, 4, 4, last % 16 > 0, 0, 0);
                }
            }
            compute_signal(USED);
            if (last % 16 == 15) {
                compute_signal(SUMMED);
                store_wait(SUMMED);
                for (int i = 0; i < 4; i++) {
                    for (int j = 0; j < 4; j++) {
                        store_tile(&C[last / 64 * 16 + i * 4][last / 16 % 4 * 16 + j * 4], i * 16 + j * 4, 64, 4, 4, 0.0078125f, 0);
                    }
                }
                store_signal(STORED);
                compute_wait(STORED);
            }
        }
    }
    load_wait(USED);
    load_wait(USED);
    fence();
}
