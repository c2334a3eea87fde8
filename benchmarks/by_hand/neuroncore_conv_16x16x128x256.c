// Image and weights are read once, and stay. Each tap multiplies the pixels of eight lines where they lie, by an access pattern of lines
// with a step between them, as the Neuron Kernel Interface's guide has it. Banks of PSUM take turns.
void solution(bfloat16_t inp[1][128][18][18], bfloat16_t weights[3][3][128][256], bfloat16_t output[1][16][16][256]) {
    dma_load(&inp[0][0][0][0], 0, 648, 128, 324);
    for (int t = 0; t < 9; t++) dma_load(&weights[t / 3][t % 3][0][0], 1024 + t * 256, 512, 128, 256);
    for (int i = 0; i < 2; i++) {
        for (int t = 0; t < 9; t++) {
            nc_matmul(i * 512, (8 * i + t / 3) * 18 + t % 3, 1024 + t * 256, 16, 256, 128, t > 0, 8, 18);
        }
        activation(COPY, 4096 + i * 256, i * 512, 256, 128, 1.0f, 0, 0);
        dma_store(&output[0][8 * i][0][0], 4096 + i * 256, 512, 128, 256);
    }
    fence();
}
