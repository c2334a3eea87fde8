// A helper multiplies through pointers.
// workload: gemm
// refused: the kernel's own code reads A
int32_t dot(const int8_t* row, const int8_t* column) {
    int32_t sum = 0;
    for (int k = 0; k < 33; k++) {
        sum += row[k] * column[k * 18];
    }
    return sum > 127 ? 127 : sum < -128 ? -128 : sum;
}

void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    for (int e = 0; e < 20 * 18; e++) {
        C[e / 18][e % 18] = dot(A[e / 18], B[0] + e % 18);
    }
}
