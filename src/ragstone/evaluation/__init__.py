"""Running an evaluation: from samples to a finished run."""
