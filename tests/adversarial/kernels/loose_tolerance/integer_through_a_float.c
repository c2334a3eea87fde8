// A sum passes through binary32.
// workload: statistics
// refused: elements of total are wrong
void solution(int16_t x[32][64], int32_t total[32], float mean[32]) {
    for (int i = 0; i < 32; i++) {
        int sum = 0;
        for (int k = 0; k < 64; k++) {
            sum += x[i][k];
        }
        total[i] = 1000.0f * sum;
        mean[i] = sum / 64.0f;
    }
}
