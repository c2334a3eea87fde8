void solution(int16_t x[32][64], int16_t y[32][64], int16_t z[32]) {
    for (int i = 0; i < 32; i++) {
        int64_t sum = 0;
        for (int k = 0; k < 64; k++) {
            sum += (int64_t)x[i][k] * y[i][k];
        }
        sum = sum >> 8;
        z[i] = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
    }
}
