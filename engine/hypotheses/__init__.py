"""What has been learned: what a hypothesis is asked for, and the curvature of its loss."""
