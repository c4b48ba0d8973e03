"""Reports: what a run decided and why, and what a domain has learned, as one page of HTML or as text for a terminal."""
