// Each product is rounded to the type of the result.
// workload: dot
// refused: of 32 elements of z are wrong
void solution(bfloat16_t x[32][64], bfloat16_t y[32][64], bfloat16_t z[32]) {
    static bfloat16_t product[1];
    for (int i = 0; i < 32; i++) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k++) {
            product[0] = x[i][k] * y[i][k];
            sum += product[0];
        }
        z[i] = sum;
    }
}
