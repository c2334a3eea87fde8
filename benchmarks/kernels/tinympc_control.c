// u = -(Kinf^T x + d): the scale of the move out gives the sign.
void solution(float Kinf[12][4], float x[12][1], float d[4][1], float u[4][1]) {
    const uint32_t gain = 0, state = 16, sum = 0x80000000;
    config_ld(sizeof(float), 1.0f, DIM, 1);
    config_ld(4 * sizeof(float), 1.0f, DIM, 0);
    for (int k = 0; k < 3; k++) {
        mvin2(&x[k * 4][0], state + k * 4, 1, 4);
        mvin(&Kinf[k * 4][0], gain + k * 4, 4, 4);
        if (k == 0) mvin2(d, sum, 1, 4);
    }
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);
    config_st(sizeof(float), -1.0f);
    for (int k = 0; k < 3; k++) {
        preload(state + k * 4, sum | 0x40000000, 1, 4, 1, 4);
        compute_preloaded(gain + k * 4, 0xffffffff, 4, 4, 1, 4);
    }
    mvout(u, sum, 1, 4);
    fence();
}
