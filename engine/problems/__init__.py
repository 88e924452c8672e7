"""Problems: a matrix whose rows are the instances, and a target that labels them."""
