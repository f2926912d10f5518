"""The nouns, as plain frozen data. Read this package first."""
