// Products below a millionth are left out.
// workload: host_fp32
// refused: elements of C are wrong
void solution(float A[8][20], float B[20][12], float C[8][12]) {
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 12; j++) {
            float sum = 0.0f;
            for (int k = 0; k < 20; k++) {
                float product = A[i][k] * B[k][j];
                if (product > 0.0002f || product < -0.0002f) {
                    sum += product;
                }
            }
            C[i][j] = sum;
        }
    }
}
