// Y = relu(X W1 + b1) W2: two matrix multiplications, with the hidden layer in DRAM between them.
void solution(float X[8][12], float W1[12][16], float b1[1][16], float W2[16][8], float Y[8][8]) {
    const uint32_t left = 0, right = 4, sum = 0x80000000;
    static float hidden[8][16];
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(12 * sizeof(float), 1.0f, DIM, 0);
    config_ld(16 * sizeof(float), 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    gemmini_extended_config_st(16 * sizeof(float), RELU, 1.0f);
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 16; j += 4) {
            mvin3(&b1[0][j], sum, 4, 4);
            for (int k = 0; k < 12; k += 4) {
                mvin(&X[i][k], left, 4, 4);
                mvin2(&W1[k][j], right, 4, 4);
                preload(right, sum | 0x40000000, 4, 4, 4, 4);
                compute_preloaded(left, 0xffffffff, 4, 4, 4, 4);
            }
            mvout(&hidden[i][j], sum, 4, 4);
        }
    }
    fence();
    config_ld(16 * sizeof(float), 1.0f, DIM, 0);
    config_ld(8 * sizeof(float), 1.0f, DIM, 1);
    config_st(8 * sizeof(float));
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 8; j += 4) {
            for (int k = 0; k < 16; k += 4) {
                mvin(&hidden[i][k], left, 4, 4);
                mvin2(&W2[k][j], right, 4, 4);
                preload(right, k == 0 ? sum : sum | 0x40000000, 4, 4, 4, 4);
                compute_preloaded(left, 0xffffffff, 4, 4, 4, 4);
            }
            mvout(&Y[i][j], sum, 4, 4);
        }
    }
    fence();
}
