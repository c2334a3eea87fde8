// Weights are stationary, as the ISCA paper describes: the image stays in the unified buffer, and each tile of weights multiplies all
// pixels of a tap, where they lie. Of 16 rows of a line, 2 are not used. Half of the filters is done first, so that its results
// leave while the other half's weights arrive.
void solution(int8_t inp[1][16][16][256], int8_t weights[3][3][256][256], int8_t output[1][14][14][256]) {
    read_host_memory(0, &inp[0][0][0][0], 256, 256, 256);
    for (int j = 0; j < 2; j++) {
        for (int t = 0; t < 9; t++) {
            read_weights(&weights[t / 3][t % 3][0][j * 128], 256, 128, 256);
            matrix_multiply(j * 2048, t / 3 * 16 + t % 3, 222, t > 0, 1);
        }
        for (int p = 0; p < 14; p++) {
            activate(4096 + j * 256 + p * 16, j * 2048 + p * 16, 14, NONE, 0.0078125f);
            write_host_memory(&output[0][p][0][j * 128], 4096 + j * 256 + p * 16, 256, 128, 14);
        }
    }
    fence();
}
