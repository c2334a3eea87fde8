// Numbers are rounded to two bits after the point first.
// workload: eighth
// refused: elements of y are wrong
void solution(float x[32][64], float8_e4m3_t y[32][64]) {
    static float8_e5m2_t narrow[1];
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            narrow[0] = x[i][j];
            float v = narrow[0];
            y[i][j] = v > 448.0f ? 448.0f : v < -448.0f ? -448.0f : v;
        }
    }
}
