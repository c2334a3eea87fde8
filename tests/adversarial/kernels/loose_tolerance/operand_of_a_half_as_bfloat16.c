// An operand keeps 8 of its 11 bits.
// workload: half
// refused: elements of z are wrong
void solution(float16_t x[32][64], float16_t y[32][64], float16_t z[32][64]) {
    static bfloat16_t narrow[1];
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            narrow[0] = x[i][j];
            z[i][j] = narrow[0] * y[i][j];
        }
    }
}
