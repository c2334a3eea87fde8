// An operand keeps 4 of its 8 bits.
// workload: dot
// refused: of 32 elements of z are wrong
void solution(bfloat16_t x[32][64], bfloat16_t y[32][64], bfloat16_t z[32]) {
    static float8_e4m3_t narrow[1];
    for (int i = 0; i < 32; i++) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k++) {
            narrow[0] = x[i][k];
            sum += narrow[0] * y[i][k];
        }
        z[i] = sum;
    }
}
