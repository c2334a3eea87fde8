// workload: operation: conv2d | accelerator: gemmini | dims: {N: 1, H: 9, W: 9, C: 20, K: 18, R: 3, S: 3} | padding: 1 | bias: row | scale: 0.015625
void solution(int8_t inp[1][9][9][20], int8_t weights[3][3][20][18], int32_t bias[1][18], int8_t output[1][9][9][18]) {
    tiled_conv_auto(1, 9, 9, 20, 18, 9, 9, 1, 1, 1, 1, 3, false, false, false, false, false, inp, weights, bias, output, NO_ACTIVATION, 0.015625f, 0, 0, 0, WS);
}
