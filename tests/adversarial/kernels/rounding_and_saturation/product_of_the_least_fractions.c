// -1 times -1 is 1, which int16 does not hold: without its limit the result is -1.
// workload: fraction
// refused: elements of z are wrong
void solution(int16_t x[32][64], int16_t y[32][64], int16_t z[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            int product = (int)x[i][j] * y[i][j];
            int below = product >> 15;
            int rest = product - (below << 15);
            int rounded = below + (rest > 16384 || (rest == 16384 && below % 2 != 0));
            z[i][j] = rounded;
        }
    }
}
