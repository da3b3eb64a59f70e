"""What every simulated device has in common: how it is asked, how it answers, and how that is judged."""
