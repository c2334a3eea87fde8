// Operands below the smallest normal half count as 0.
// workload: half
// refused: elements of z are wrong
void solution(float16_t x[32][64], float16_t y[32][64], float16_t z[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            float a = x[i][j];
            if (a < 6.1035e-5f && a > -6.1035e-5f) a = 0.0f;
            z[i][j] = a * y[i][j];
        }
    }
}
