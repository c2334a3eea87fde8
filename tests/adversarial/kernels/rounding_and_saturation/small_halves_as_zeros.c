// Results below the smallest normal half become 0.
// workload: half
// refused: elements of z are wrong
void solution(float16_t x[32][64], float16_t y[32][64], float16_t z[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            float product = x[i][j] * y[i][j];
            z[i][j] = product < 6.1035e-5f && product > -6.1035e-5f ? 0.0f : product;
        }
    }
}
