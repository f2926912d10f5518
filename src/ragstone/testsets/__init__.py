"""Test sets and the documents behind them."""
