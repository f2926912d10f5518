"""Prompts: one Markdown file a kind of question, and what makes them a model's prompt."""
