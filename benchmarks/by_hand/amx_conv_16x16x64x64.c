// Four tiles of sums, two lines of 16 pixels by 32 filters, from two tiles of each operand, as Intel's optimization manual recommends
// for products: each load serves two products. A tap reads its pixels where they lie.
void solution(int8_t inp[1][18][18][64], int8_t weights[3][3][16][64][4], int32_t output[1][16][16][64]) {
    for (int t = 0; t < 8; t++) tile_configure(t, 16, 64);
    for (int p = 0; p < 16; p += 2) {
        for (int j = 0; j < 64; j += 32) {
            for (int t = 0; t < 4; t++) tilezero(t * 16);
            for (int tap = 0; tap < 9; tap++) {
                tileloadd(4 * 16, &inp[0][p + tap / 3][tap % 3][0], 64);
                tileloadd(6 * 16, &weights[tap / 3][tap % 3][0][j][0], 256);
                tdpbssd(0, 4 * 16, 6 * 16);
                tileloadd(7 * 16, &weights[tap / 3][tap % 3][0][j + 16][0], 256);
                tdpbssd(16, 4 * 16, 7 * 16);
                tileloadd(5 * 16, &inp[0][p + 1 + tap / 3][tap % 3][0], 64);
                tdpbssd(32, 5 * 16, 6 * 16);
                tdpbssd(48, 5 * 16, 7 * 16);
            }
            for (int t = 0; t < 4; t++) tilestored(&output[0][p + t / 2][0][j + t % 2 * 16], 256, t * 16);
        }
    }
    fence();
}
