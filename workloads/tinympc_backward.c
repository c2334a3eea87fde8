// d_i = Quu_inv^T (Bdyn^T p_{i+1} + r_i), p_i = q_i + AmBKt p_{i+1} - Kinf^T r_i, from the last p on.
// The array multiplies, with the operand of rows transposed where the formula says so; the host adds and negates.

// sum += matrix vector, or matrix^T vector where the array transposes and tiles of the sum lie along the rows.
void multiply_add(float* matrix, int step, float* vector, uint32_t sum, int depth, bool first) {
    for (int k = 0; k < depth; k += 4) {
        mvin(matrix + k * step, 0, 4, 4);
        mvin2(vector + k, 4, 1, 4);
        preload(4, first && k == 0 ? sum : sum | 0x40000000, 1, 4, 1, 4);
        compute_preloaded(0, 0xffffffff, 4, 4, 1, 4);
    }
}

void solution(float Bdyn[12][4], float Quu_inv[4][4], float Kinf[4][12], float AmBKt[12][12], float p[NHORIZON][12][1],
              float q[NHORIZON][12][1], float r[NHORIZON][4][1], float d[NHORIZON][4][1]) {
    const uint32_t sum = 0x80000000;
    static float product[12][1];
    config_ld(sizeof(float), 1.0f, DIM, 1);
    config_st(sizeof(float));
    for (int i = NHORIZON - 2; i >= 0; i--) {
        config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);
        config_ld(4 * sizeof(float), 1.0f, DIM, 0);
        mvin2(r[i], sum, 1, 4);
        multiply_add(Bdyn[0], 4, p[i + 1], sum, 12, false);
        mvout(d[i], sum, 1, 4);
        fence();  // d_i holds Bdyn^T p_{i+1} + r_i
        multiply_add(Quu_inv[0], 4, d[i], sum, 4, true);
        mvout(d[i], sum, 1, 4);
        config_ld(12 * sizeof(float), 1.0f, DIM, 0);
        for (int j = 0; j < 12; j += 4) {
            multiply_add(&Kinf[0][j], 12, r[i], sum, 4, true);
            mvout(&p[i][j][0], sum, 1, 4);
        }
        fence();
        negate_matrix(p[i], p[i], 12, 1);
        config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
        for (int j = 0; j < 12; j += 4) {
            mvin2(&q[i][j][0], sum, 1, 4);
            multiply_add(AmBKt[j], 1, p[i + 1], sum, 12, false);
            mvout(&product[j][0], sum, 1, 4);
        }
        fence();
        add_matrix(p[i], product, p[i], 12, 1);
    }
}
