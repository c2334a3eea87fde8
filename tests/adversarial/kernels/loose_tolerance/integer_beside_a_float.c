// A sum is off by one, which the tolerance of the float beside it would cover.
// workload: statistics
// refused: elements of total are wrong
void solution(int16_t x[32][64], int32_t total[32], float mean[32]) {
    for (int i = 0; i < 32; i++) {
        int sum = 0;
        for (int k = 0; k < 64; k++) {
            sum += x[i][k];
        }
        total[i] = 1000 * sum + (sum > 1000);
        mean[i] = sum / 64.0f;
    }
}
