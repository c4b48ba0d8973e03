"""What a principal is worth: trials of rankers and models on items with a known answer, hostile candidates and records."""
