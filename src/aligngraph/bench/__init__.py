"""Benchmarks: measured, printed and written as JSON, never asserted in a test."""
