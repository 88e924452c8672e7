"""What a run yields and what is concluded from it: trace, verdict and certificate, judgement, JSON."""
