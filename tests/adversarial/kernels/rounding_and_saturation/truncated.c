// Halves are cut off.
// workload: host_half
// refused: elements of C are wrong
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 18; j++) {
            int32_t sum = 0;
            for (int k = 0; k < 33; k++) {
                sum += A[i][k] * B[k][j];
            }
            const int32_t rounded = sum / 2;
            C[i][j] = rounded > 127 ? 127 : rounded < -128 ? -128 : rounded;
        }
    }
}
