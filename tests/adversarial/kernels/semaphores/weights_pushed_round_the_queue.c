// A tile of weights fills every place of the queue, so that old weights are found to be right; their signals stay.
// workload: tpu
// refused: signals semaphore 0, and nothing waits for that
void solution(int8_t A[12][9], int8_t B[9][10], int8_t C[12][10]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0;
    for (int i = 0; i < 12; i += 16) {
        const int rows = 12 - i < 16 ? 12 - i : 16;
        for (int j = 0; j < 10; j += 256) {
            const int cols = 10 - j < 256 ? 10 - j : 256;
            for (int k = 0; k < 9; k += 256) {
                const int depth = 9 - k < 256 ? 9 - k : 256;
                read_host_memory(a_tile, &A[i][k], 9, depth, rows);
                for (int w = 0; w < 5; w++) read_weights(&B[k][j], 10, cols, depth);
                matrix_multiply(c_tile, a_tile, rows, k == 0 ? 0 : 1, 1);
            }
            activate(a_tile, c_tile, rows, false, 0.25f);
            write_host_memory(&C[i][j], a_tile, 10, cols, rows);
        }
    }
    fence();
}
