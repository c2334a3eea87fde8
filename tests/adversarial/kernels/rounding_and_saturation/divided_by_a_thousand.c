// A division of integers, rounded to the nearest.
// workload: host_thousandth
// refused: elements of C are wrong
void solution(int8_t A[20][64], int8_t B[64][18], int8_t C[20][18]) {
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 18; j++) {
            int32_t sum = 0;
            for (int k = 0; k < 64; k++) {
                sum += A[i][k] * B[k][j];
            }
            const int32_t rounded = (sum < 0 ? sum - 500 : sum + 500) / 1000;
            C[i][j] = rounded > 127 ? 127 : rounded < -128 ? -128 : rounded;
        }
    }
}
