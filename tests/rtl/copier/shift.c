void solution(int8_t x[64], int8_t y[64]) {
    for (int i = 0; i < 64; i += 16) copy(&x[i], &y[i], 3);
    fence();
}
