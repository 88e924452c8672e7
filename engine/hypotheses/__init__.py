"""What has been learned: what a hypothesis provides, and the curvature of its loss."""
