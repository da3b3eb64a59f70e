"""What calls of the API found, as tables."""
