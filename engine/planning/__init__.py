"""Planning: every decision of a run, made once before it begins."""
