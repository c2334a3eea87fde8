"""The process beside the device that judges and times kernels, and the one that runs a candidate for it.

Two kinds of processes work together. The *referee* draws inputs, computes references in float64, compares, and keeps
the clock; it never imports a candidate. A *candidate process*, fresh for each kernel, imports it and runs it on memory
that the referee shares with it. A candidate answers in JSON. The referee does not trust an answer that it can check
itself.
"""
