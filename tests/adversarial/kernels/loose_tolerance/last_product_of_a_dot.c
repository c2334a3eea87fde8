// The last of 64 products is left out, where a result has 8 bits.
// workload: dot
// refused: of 32 elements of z are wrong
void solution(bfloat16_t x[32][64], bfloat16_t y[32][64], bfloat16_t z[32]) {
    for (int i = 0; i < 32; i++) {
        float sum = 0.0f;
        for (int k = 0; k < 63; k++) {
            sum += x[i][k] * y[i][k];
        }
        z[i] = sum;
    }
}
