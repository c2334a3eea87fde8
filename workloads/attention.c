// O = softmax(Q K^T / 2) V: products on the array, softmax on the host. Scores are at most 2 in size, so that no maximum
// has to be taken off; exp(s) is the 32nd power of a polynomial in s / 32.
void solution(float Q[8][4], float K[8][4], float V[8][4], float O[8][4]) {
    const uint32_t left = 0, right = 4, sum = 0x80000000;
    static float weights[8][8];
    static float total[8];
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, true);
    config_ld(4 * sizeof(float), 1.0f, DIM, 0);
    config_ld(4 * sizeof(float), 1.0f, DIM, 1);
    config_st(8 * sizeof(float), 0.015625f);  // 1 / 2 / 32
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 8; j += 4) {
            mvin(Q[i], left, 4, 4);
            mvin2(K[j], right, 4, 4);
            preload(right, sum, 4, 4, 4, 4);
            compute_preloaded(left, 0xffffffff, 4, 4, 4, 4);
            mvout(&weights[i][j], sum, 4, 4);
        }
    }
    fence();
    for (int i = 0; i < 8; i++) {
        total[i] = 0.0f;
        for (int j = 0; j < 8; j++) {
            weights[i][j] = 1.0f + weights[i][j] * (1.0f + weights[i][j] * (0.5f + weights[i][j] * (1.0f / 6.0f + weights[i][j] / 24.0f)));
            for (int k = 0; k < 5; k++) {
                weights[i][j] = weights[i][j] * weights[i][j];
            }
            total[i] += weights[i][j];
        }
        for (int j = 0; j < 8; j++) {
            weights[i][j] = weights[i][j] / total[i];
        }
    }
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(8 * sizeof(float), 1.0f, DIM, 0);
    config_st(4 * sizeof(float));
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 8; k += 4) {
            mvin(&weights[i][k], left, 4, 4);
            mvin2(V[k], right, 4, 4);
            preload(right, k == 0 ? sum : sum | 0x40000000, 4, 4, 4, 4);
            compute_preloaded(left, 0xffffffff, 4, 4, 4, 4);
        }
        mvout(O[i], sum, 4, 4);
    }
    fence();
}
