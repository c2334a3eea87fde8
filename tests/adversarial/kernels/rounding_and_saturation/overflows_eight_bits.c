// Beyond 448 lies what is no number.
// workload: eighth
// refused: elements of y are wrong
void solution(float x[32][64], float8_e4m3_t y[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            y[i][j] = x[i][j];
        }
    }
}
