// Negative operands are read as large ones.
// workload: amx
// refused: elements of C are wrong
void solution(int8_t A[20][72], int8_t B[18][24][4], int32_t C[20][24]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 32;
    for (int i = 0; i < 20; i += 16) {
        const int rows = 20 - i < 16 ? 20 - i : 16;
        for (int j = 0; j < 24; j += 16) {
            const int cols = 24 - j < 16 ? 24 - j : 16;
            tile_configure(c_tile / ROWS, rows, 4 * cols);
            tilezero(c_tile);
            for (int k = 0; k < 72; k += 64) {
                const int depth = 72 - k < 64 ? 72 - k : 64;
                tile_configure(a_tile / ROWS, rows, depth);
                tile_configure(b_tile / ROWS, depth / 4, 4 * cols);
                tileloadd(a_tile, &A[i][k], 72);
                tileloadd(b_tile, &B[k / 4][j][0], 96);
                tdpbusd(c_tile, a_tile, b_tile);
            }
            tilestored(&C[i][j], 96, c_tile);
        }
    }
    fence();
}
