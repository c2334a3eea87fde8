// Sums are kept in 16 bits.
// workload: host_gemm
// refused: elements of C are wrong
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 18; j++) {
            int16_t sum = 0;
            for (int k = 0; k < 33; k++) {
                sum += A[i][k] * B[k][j];
            }
            C[i][j] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
        }
    }
}
