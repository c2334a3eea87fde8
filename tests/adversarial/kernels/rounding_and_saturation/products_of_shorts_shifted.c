// Each product is shifted before it is added.
// workload: short
// refused: elements of z are wrong
void solution(int16_t x[32][64], int16_t y[32][64], int16_t z[32]) {
    for (int i = 0; i < 32; i++) {
        int64_t sum = 0;
        for (int k = 0; k < 64; k++) {
            sum += x[i][k] * y[i][k] >> 8;
        }
        z[i] = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
    }
}
