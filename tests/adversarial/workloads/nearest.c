void solution(float x[32][64], int8_t y[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            float v = x[i][j] > 127.0f ? 127.0f : x[i][j] < -128.0f ? -128.0f : x[i][j];
            int below = (int)(v + 256.0f) - 256;
            float rest = v - below;
            y[i][j] = below + (rest > 0.5f || (rest == 0.5f && below % 2 != 0));
        }
    }
}
