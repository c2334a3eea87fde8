// Arithmetic in binary32 and binary64, and the conversions between them and integers.
float halve(float v) { return v / 2; }

void solution(int32_t x[8][8], float f[16], int64_t out[64]) {
    float s = 0;
    for (int i = 0; i < 16; i++) s += f[i] * 0.1f - 1.0f;
    f[0] = s;
    f[1] = -f[1];
    f[2] = halve(f[3]) + x[0][1];
    f[4] = (float)x[7][7] / 3;
    f[5] *= 1.5;
    f[6] += 1;
    f[7]++;
    double d = 0.1;
    f[8] = d * 3 - f[9];
    out[0] = f[4];
    out[1] = (int8_t)-3.75;
    out[2] = f[10] < f[11];
    out[3] = !f[12] + (f[13] != 0) + (f[14] ? 10 : 20);
    out[4] = 7 / 2 * 2.0;
    out[5] = (int)(1e3 + .5f);
    out[6] = s <= d || s > d && d == 0.1;
    uint64_t big = 0xffffffffffffffff;
    f[15] = big;
}
