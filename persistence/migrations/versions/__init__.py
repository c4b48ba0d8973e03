"""One file per revision. A released one is never edited."""
