// d_i = Quu_inv^T (Bdyn^T p_{i+1} + r_i), p_i = q_i + AmBKt p_{i+1} - Kinf^T r_i. Everything stays on the accelerator: q and r
// start the sums in the accumulator, whose rows are operands of the next product, and the sign of Kinf comes with its load.
// Only the products with AmBKt depend on each other; all others go before or behind them, by how the array transposes.
void solution(float Bdyn[12][4], float Quu_inv[4][4], float Kinf[4][12], float AmBKt[12][12], float p[NHORIZON][12][1],
              float q[NHORIZON][12][1], float r[NHORIZON][4][1], float d[NHORIZON][4][1]) {
    const uint32_t input = 0, inverse = 12, gain = 16, cost = 28, residual = 64;
    const uint32_t value = 0x80000000, term = 0x80000100, step = 0x80000200, sum = 0x40000000;
    const uint32_t last = value + (NHORIZON - 1) * 12;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);
    config_ld(4 * sizeof(float), 1.0f, DIM, 0);
    config_ld(sizeof(float), 1.0f, DIM, 1);
    config_ld(12 * sizeof(float), -1.0f, DIM, 2);
    config_st(sizeof(float));
    for (int k = 0; k < 3; k++) {
        mvin2(&p[NHORIZON - 1][k * 4][0], last + k * 4, 1, 4);
        mvin(&Bdyn[k * 4][0], input + k * 4, 4, 4);
    }
    mvin3(Kinf, gain, 12, 4);
    mvin(Quu_inv, inverse, 4, 4);
    for (int i = NHORIZON - 2; i >= 0; i--) {
        mvin2(r[i], residual + i * 4, 1, 4);
        mvin2(r[i], term + i * 4, 1, 4);
        for (int k = 0; k < 3; k++) {
            mvin2(&q[i][k * 4][0], value + i * 12 + k * 4, 1, 4);
        }
    }
    config_ld(12 * sizeof(float), 1.0f, DIM, 0);
    for (int j = 0; j < 3; j++) {
        mvin(&AmBKt[j * 4][0], cost + j * 12, 12, 4);
    }
    for (int i = NHORIZON - 2; i >= 0; i--) {
        preload(residual + i * 4, (value + i * 12) | sum, 1, 4, 1, 4);
        compute_preloaded(gain, 0xffffffff, 4, 4, 1, 4);
        for (int j = 1; j < 3; j++) {
            preload(0xffffffff, (value + i * 12 + j * 4) | sum, 1, 4, 1, 4);
            compute_accumulated(gain + j * 4, 0xffffffff, 4, 4, 1, 4);
        }
    }
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    for (int i = NHORIZON - 2; i >= 0; i--) {
        const uint32_t now = value + i * 12, following = now + 12;
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 3; j++) {
                preload(j == 0 ? following + k * 4 : 0xffffffff, (now + j * 4) | sum, 1, 4, 1, 4);
                if (j == 0) {
                    compute_preloaded(cost + j * 12 + k * 4, 0xffffffff, 4, 4, 1, 4);
                } else {
                    compute_accumulated(cost + j * 12 + k * 4, 0xffffffff, 4, 4, 1, 4);
                }
            }
        }
        for (int j = 0; j < 3; j++) {
            mvout(&p[i][j * 4][0], now + j * 4, 1, 4);
        }
    }
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);
    for (int k = 0; k < 3; k++) {
        for (int i = NHORIZON - 2; i >= 0; i--) {
            preload(value + i * 12 + 12 + k * 4, (term + i * 4) | sum, 1, 4, 1, 4);
            compute_preloaded(input + k * 4, 0xffffffff, 4, 4, 1, 4);
        }
    }
    for (int i = NHORIZON - 2; i >= 0; i--) {
        preload(term + i * 4, step + i * 4, 1, 4, 1, 4);
        compute_preloaded(inverse, 0xffffffff, 4, 4, 1, 4);
        mvout(d[i], step + i * 4, 1, 4);
    }
    fence();
}
