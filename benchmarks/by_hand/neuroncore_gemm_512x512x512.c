// The loads of the left operand are hoisted out of the loop over columns and the right operand is read once, as in the tutorials of
// the Neuron Kernel Interface. Banks of PSUM take turns.
void solution(bfloat16_t A[512][512], bfloat16_t B[512][512], bfloat16_t C[512][512]) {
    for (int k = 0; k < 4; k++) {
        dma_load(&A[k * 128][0], k * 512, 1024, 128, 512);
        dma_load(&B[k * 128][0], 8192 + k * 512, 1024, 128, 512);
    }
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            nc_matmul(i * 512, k * 512 + i * 128, 8192 + k * 512, 128, 512, 128, k > 0, 1, 128);
        }
        activation(COPY, 16384 + i * 512, i * 512, 512, 128, 1.0f, 0, 0);
        dma_store(&C[i * 128][0], 16384 + i * 512, 1024, 128, 512);
    }
    fence();
}
