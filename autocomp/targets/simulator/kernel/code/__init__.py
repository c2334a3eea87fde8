"""Typed expressions, the arithmetic of C over them, and bytecode."""
