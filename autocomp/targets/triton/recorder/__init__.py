"""The process that runs one kernel with marks in it, and says how long each phase of its loops took.

The marks go into the compiler's last form of a kernel that still has tensors, after pipelining, so that they move
nothing: `marks` places them, `records` reads what they leave. It takes no part in judging: a change here changes no
verdict. Needs a GPU.
"""
