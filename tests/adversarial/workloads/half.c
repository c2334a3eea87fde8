void solution(float16_t x[32][64], float16_t y[32][64], float16_t z[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            z[i][j] = x[i][j] * y[i][j];
        }
    }
}
