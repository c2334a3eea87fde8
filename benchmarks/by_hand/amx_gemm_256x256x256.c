// Four tiles of sums from two tiles of each operand, as Intel's optimization manual recommends: each load serves two products.
void solution(int8_t A[256][256], int8_t B[64][256][4], int32_t C[256][256]) {
    for (int t = 0; t < 8; t++) tile_configure(t, 16, 64);
    for (int i = 0; i < 256; i += 32) {
        for (int j = 0; j < 256; j += 32) {
            for (int t = 0; t < 4; t++) tilezero(t * 16);
            for (int k = 0; k < 256; k += 64) {
                tileloadd(4 * 16, &A[i][k], 256);
                tileloadd(6 * 16, &B[k / 4][j][0], 1024);
                tdpbssd(0, 4 * 16, 6 * 16);
                tileloadd(7 * 16, &B[k / 4][j + 16][0], 1024);
                tdpbssd(16, 4 * 16, 7 * 16);
                tileloadd(5 * 16, &A[i + 16][k], 256);
                tdpbssd(2 * 16, 5 * 16, 6 * 16);
                tdpbssd(3 * 16, 5 * 16, 7 * 16);
            }
            tilestored(&C[i][j], 1024, 0);
            tilestored(&C[i][j + 16], 1024, 16);
            tilestored(&C[i + 16][j], 1024, 2 * 16);
            tilestored(&C[i + 16][j + 16], 1024, 3 * 16);
        }
    }
    fence();
}
