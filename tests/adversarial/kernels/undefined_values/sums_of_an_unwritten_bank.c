// The first tile of the sum adds to a bank that nothing has written.
// workload: neuroncore
// refused: elements of C are wrong
void solution(bfloat16_t A[160][9], bfloat16_t B[160][20], bfloat16_t C[9][20]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 128;
    const uint32_t c_tile = 0;
    for (int i = 0; i < 9; i += 128) {
        const int rows = 9 - i < 128 ? 9 - i : 128;
        for (int j = 0; j < 20; j += 512) {
            const int cols = 20 - j < 512 ? 20 - j : 512;
            for (int k = 0; k < 160; k += 128) {
                const int depth = 160 - k < 128 ? 160 - k : 128;
                dma_load(&A[k][i], a_tile, 18, depth, rows);
                dma_load(&B[k][j], b_tile, 40, depth, cols);
                nc_matmul(c_tile, a_tile, b_tile, rows, cols, depth, 1, 1, rows);
            }
            activation(COPY, b_tile, c_tile, cols, rows, 1.0f, 0, 0);
            dma_store(&C[i][j], b_tile, 40, rows, cols);
        }
    }
    fence();
}
