// Everything stays on the accelerator: matrices in the scratchpad, states and inputs in the accumulator, whose rows
// are operands of the next product. Signs come from scales: -B is loaded for B u = (-B)(K x + d), u is stored negated.
void solution(float Adyn[12][12], float Bdyn[12][4], float Kinf[4][12], float x[NHORIZON + 1][12][1],
              float d[NHORIZON][4][1], float u[NHORIZON][4][1]) {
    const uint32_t gain = 0, dynamics = 12, input = 48, state = 0x80000000, feedback = 0x80000100, sum = 0x40000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(12 * sizeof(float), 1.0f, DIM, 0);
    config_ld(sizeof(float), 1.0f, DIM, 1);
    config_ld(4 * sizeof(float), -1.0f, DIM, 2);
    config_st(sizeof(float));
    for (int k = 0; k < 3; k++) {
        mvin2(&x[0][k * 4][0], state + k * 4, 1, 4);
    }
    mvin(Kinf, gain, 12, 4);
    for (int j = 0; j < 3; j++) {
        mvin(&Adyn[j * 4][0], dynamics + j * 12, 12, 4);
    }
    for (int i = 0; i < NHORIZON; i++) {
        mvin2(d[i], feedback + i * 4, 1, 4);
        if (i == 0) {
            for (int j = 0; j < 3; j++) {
                mvin3(&Bdyn[j * 4][0], input + j * 4, 4, 4);
            }
        }
    }
    for (int i = 0; i < NHORIZON; i++) {
        const uint32_t now = state + i * 12, next = now + 12, u_negated = feedback + i * 4;
        for (int k = 0; k < 3; k++) {
            preload(now + k * 4, u_negated | sum, 1, 4, 1, 4);
            compute_preloaded(gain + k * 4, 0xffffffff, 4, 4, 1, 4);
            for (int j = 0; j < 3; j++) {
                preload(0xffffffff, k == 0 ? next + j * 4 : (next + j * 4) | sum, 1, 4, 1, 4);
                compute_accumulated(dynamics + j * 12 + k * 4, 0xffffffff, 4, 4, 1, 4);
            }
        }
        for (int j = 0; j < 3; j++) {
            preload(j == 0 ? u_negated : 0xffffffff, (next + j * 4) | sum, 1, 4, 1, 4);
            if (j == 0) {
                compute_preloaded(input, 0xffffffff, 4, 4, 1, 4);
            } else {
                compute_accumulated(input + j * 4, 0xffffffff, 4, 4, 1, 4);
            }
        }
        for (int j = 0; j < 3; j++) {
            mvout(&x[i + 1][j * 4][0], next + j * 4, 1, 4);
        }
    }
    config_st(sizeof(float), -1.0f);
    for (int i = 0; i < NHORIZON; i++) {
        mvout(u[i], feedback + i * 4, 1, 4);
    }
    fence();
}
