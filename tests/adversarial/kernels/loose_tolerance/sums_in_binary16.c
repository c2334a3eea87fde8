// Sums are kept to 11 bits of significand.
// workload: host_fp32
// refused: elements of C are wrong
float rounded(float x, int32_t mask) {
    static float place[1];
    place[0] = x;
    *(int32_t*)place = *(int32_t*)place & mask;
    return place[0];
}

void solution(float A[8][20], float B[20][12], float C[8][12]) {
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 12; j++) {
            float sum = 0.0f;
            for (int k = 0; k < 20; k++) {
                sum = rounded(sum + A[i][k] * B[k][j], 0xffffe000);
            }
            C[i][j] = sum;
        }
    }
}
