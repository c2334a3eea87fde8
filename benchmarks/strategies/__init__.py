"""Strategies of the search compared at equal evaluations, with the rules agent: python -m benchmarks.strategies"""
