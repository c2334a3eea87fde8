void solution(int8_t A[256][256], int8_t B[256][256], int8_t C[256][256]) {
    for (int i = 0; i < 256; i++) {
        for (int j = 0; j < 256; j++) {
            int32_t sum = 0;
            for (int k = 0; k < 256; k++) {
                sum += A[i][k] * B[k][j];
            }
            C[i][j] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
        }
    }
}
