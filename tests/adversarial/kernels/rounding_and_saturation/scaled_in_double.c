// The product with the scale is not rounded to binary32 before it is rounded to an integer.
// workload: host_thousandth
// refused: elements of C are wrong
void solution(int8_t A[20][64], int8_t B[64][18], int8_t C[20][18]) {
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 18; j++) {
            int32_t sum = 0;
            for (int k = 0; k < 64; k++) {
                sum += A[i][k] * B[k][j];
            }
            const double scaled = sum * 0.0010000000474974513;
            const double down = (double)(int64_t)(scaled < 0.0 ? scaled - 1.0 : scaled);
            const double low = down > scaled ? down - 1.0 : down;
            const int64_t whole = (int64_t)low;
            const double rest = scaled - low;
            const int64_t rounded = rest > 0.5 || (rest == 0.5 && (whole & 1)) ? whole + 1 : whole;
            C[i][j] = rounded > 127 ? 127 : rounded < -128 ? -128 : rounded;
        }
    }
}
