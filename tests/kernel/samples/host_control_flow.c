// Every statement of the dialect, on the host alone.
int collatz(int n) {
    int steps = 0;
    while (n != 1) {
        if (n % 2 == 0)
            n /= 2;
        else
            n = 3 * n + 1;
        steps++;
    }
    return steps;
}

static inline int counter(int by) {
    static int total = 10;
    static uint8_t wraps = 250;
    total += by;
    wraps += 3;
    return total + wraps;
}

int32_t trace(int32_t m[8][8], int from) {
    int32_t sum = 0;
    for (int i = from; i < 8; ++i)
        sum += m[i][i];
    return sum;
}

void scale(int32_t *row, int by) {
    for (int i = 0; i < 8; i++) row[i] *= by;
    return;
}

void solution(int32_t x[8][8], float f[16], int64_t out[64]) {
    int k = 0, first = 3, *p = x[2];
    for (int i = 0; i < 8; i++) {
        if (i == 2) continue;
        if (i == 6) break;
        for (int i = 7; i >= 0; i -= 2) out[k] += i;  // shadows
        out[k++] += i * first;
    }
    do {
        out[k] = collatz(k + 5);
        k += 1;
    } while (k < 12);
    for (;;) {
        if (k >= 14) break;
        else if (k == 12) out[k++] = counter(1);
        else { out[k++] = counter(2) + counter(3); }
    }
    for (int r = 0; r < 3; r++) {
        static int once = 5;
        int again = 5;
        int table[2][3] = {{1, 2}, {k, r}};
        static int16_t fixed[4] = {-1, 2, 30000};
        out[20 + r] = once++ + again++ * 100 + table[1][0] + table[1][2] + fixed[r];
        fixed[r] += 1;
    }
    out[24] = trace(x, 2);
    scale(x[3], -2);
    scale(&x[4][0], 3);
    p += 3;
    *p = 77;
    p[1] -= 5;
    out[25] = *(p + 2) + p[-1] + (p - &x[0][0]) + (p > x[1]);
    out[26] = x[1][7]++ + ++x[1][6] + x[1][7];
    out[27] = sizeof(x[0]) + sizeof x[0][0] + sizeof(int8_t) + sizeof(f[0] + 1.0);
    int a, b;
    a = b = 9;
    a <<= 2; b %= 4; a ^= b; a |= 64; a &= ~1; b = -b; a >>= 1; b /= 1;
    out[28] = a > 3 ? b < 0 ? 1 : 2 : 3;
    out[29] = a && !b || k;
    out[30] = 0 && 1 / (k - k);
    unsigned int n = 3;
    out[31] = n - 4 > 0;
    out[32] = (uint32_t)(1 << 31) >> 4;
    bool yes = 5;
    out[33] = yes + (bool)0.25;
    if (yes) return;
    out[34] = 1;
}
