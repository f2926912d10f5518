"""Records that other tools write, as samples."""
