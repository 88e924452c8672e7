"""What a run yields and what is concluded from it: traces, views, judgements, JSON."""
