void solution(int32_t x[32][64], int8_t y[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            int64_t below = x[i][j] >> 20;
            int64_t rest = x[i][j] - (below << 20);
            int64_t rounded = below + (rest > 524288 || (rest == 524288 && below % 2 != 0));
            y[i][j] = rounded > 127 ? 127 : rounded < -128 ? -128 : rounded;
        }
    }
}
