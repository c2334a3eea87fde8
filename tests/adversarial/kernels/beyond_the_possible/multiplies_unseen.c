// An instruction that multiplies by way of squares, which the judge does not recognise as multiplying.
// workload: squares
// refused: that is impossible
void solution(int8_t A[32][32], int8_t B[32][32], int32_t C[32][32]) {
    for (int i = 0; i < 32; i += 4) {
        for (int j = 0; j < 32; j += 4) {
            squares(A[i], &B[0][j], 0, 32, 32, 4, 4, 32);
            compute_signal(SUMMED);
            store_wait(SUMMED);
            store_sum(&C[i][j], 0, 128, 4, 4);
            store_signal(STORED);
            compute_wait(STORED);
        }
    }
    fence();
}
