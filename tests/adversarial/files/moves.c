void solution(int8_t A[4][4]) { fence(); }
