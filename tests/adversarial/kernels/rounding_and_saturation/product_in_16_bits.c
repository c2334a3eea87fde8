// A product of two 16-bit numbers is kept in 16 bits.
// workload: fraction
// refused: elements of z are wrong
void solution(int16_t x[32][64], int16_t y[32][64], int16_t z[32][64]) {
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 64; j++) {
            int16_t product = (int)x[i][j] * y[i][j];
            int below = product >> 15;
            int rest = product - (below << 15);
            int rounded = below + (rest > 16384 || (rest == 16384 && below % 2 != 0));
            z[i][j] = rounded > 32767 ? 32767 : rounded;
        }
    }
}
