void solution(int8_t inp[1][16][16][16], int8_t weights[3][3][16][16], int8_t output[1][14][14][16]) {
    for (int p = 0; p < 14; p++) {
        for (int q = 0; q < 14; q++) {
            for (int k = 0; k < 16; k++) {
                int32_t sum = 0;
                for (int r = 0; r < 3; r++) {
                    for (int s = 0; s < 3; s++) {
                        for (int c = 0; c < 16; c++) {
                            sum += inp[0][p + r][q + s][c] * weights[r][s][c][k];
                        }
                    }
                }
                output[0][p][q][k] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
            }
        }
    }
}
