"""The kernels that a search starts from: one generated from the machine's idioms, or its library's routine."""
