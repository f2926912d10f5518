"""The wire: how a prompt reaches a model, and what comes back."""
