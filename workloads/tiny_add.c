void solution(int32_t X[64][32], int32_t Y[64][32], int32_t Z[64][32]) {
    for (int i = 0; i < 64; i += 4) {
        for (int j = 0; j < 32; j += 4) {
            load_sum(&X[i][j], 0, 128, 4, 4);
            load_sum(&Y[i][j], 4, 128, 4, 4);
            load_signal(LOADED);
            compute_wait(LOADED);
            vadd(0, 4, 8, 4, 4);
            compute_signal(SUMMED);
            store_wait(SUMMED);
            store_sum(&Z[i][j], 8, 128, 4, 4);
            store_signal(STORED);
            load_wait(STORED);
        }
    }
    fence();
}
