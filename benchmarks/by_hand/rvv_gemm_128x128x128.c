// Four rows of 64 columns of sums in registers, and two groups of registers for rows of the right operand in turn, as BLIS's
// kernels for vector machines: each row of it serves four rows of sums.
void solution(float A[128][128], float B[128][128], float C[128][128]) {
    for (int j = 0; j < 128; j += 64) {
        for (int i = 0; i < 128; i += 4) {
            for (int r = 0; r < 4; r++) vfmv_v_f(r * 4, 0.0f, 64);
            for (int k = 0; k < 128; k++) {
                vle32(16 + k % 2 * 4, &B[k][j], 64);
                for (int r = 0; r < 4; r++) {
                    flw(r + k % 2 * 4, &A[i + r][k]);
                    vfmacc_vf(r * 4, r + k % 2 * 4, 16 + k % 2 * 4, 64);
                }
            }
            for (int r = 0; r < 4; r++) vse32(&C[i + r][j], r * 4, 64);
        }
    }
    fence();
}
