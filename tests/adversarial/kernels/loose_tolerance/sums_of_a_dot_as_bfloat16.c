// Partial sums are kept in the type of the result.
// workload: dot
// refused: of 32 elements of z are wrong
void solution(bfloat16_t x[32][64], bfloat16_t y[32][64], bfloat16_t z[32]) {
    static bfloat16_t sum[1];
    for (int i = 0; i < 32; i++) {
        sum[0] = 0.0f;
        for (int k = 0; k < 64; k++) {
            sum[0] += x[i][k] * y[i][k];
        }
        z[i] = sum[0];
    }
}
