// Ties are rounded away from zero.
// workload: host_half
// refused: elements of C are wrong
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 18; j++) {
            int32_t sum = 0;
            for (int k = 0; k < 33; k++) {
                sum += A[i][k] * B[k][j];
            }
            const float scaled = sum * 0.5f;
            const int32_t rounded = scaled < 0.0f ? (int32_t)(scaled - 0.5f) : (int32_t)(scaled + 0.5f);
            C[i][j] = rounded > 127 ? 127 : rounded < -128 ? -128 : rounded;
        }
    }
}
