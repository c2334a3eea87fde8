void solution(float Adyn[12][12], float Bdyn[12][4], float Kinf[4][12], float x[12][1], float d[4][1], float u[4][1],
              float next[12][1]) {
    for (int j = 0; j < 4; j++) {
        float sum = d[j][0];
        for (int k = 0; k < 12; k++) {
            sum += Kinf[j][k] * x[k][0];
        }
        u[j][0] = -sum > 1.0f ? 1.0f : -sum < -1.0f ? -1.0f : -sum;
    }
    for (int j = 0; j < 12; j++) {
        float sum = 0.0f;
        for (int k = 0; k < 12; k++) {
            sum += Adyn[j][k] * x[k][0];
        }
        for (int k = 0; k < 4; k++) {
            sum += Bdyn[j][k] * u[k][0];
        }
        next[j][0] = sum;
    }
}
