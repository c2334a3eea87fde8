// An instruction that copies in DRAM, of which the description does not say that it takes the bus.
// workload: echo
// refused: that is impossible
void solution(int8_t x[64][64], int8_t y[64][64]) {
    for (int i = 0; i < 64; i += 4) {
        echo(x[i], y[i], 64, 64, 4);
    }
    fence();
}
