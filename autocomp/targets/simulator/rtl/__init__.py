"""The real hardware description as a referee: kernels on verilated RTL, bit by bit and cycle by cycle."""
