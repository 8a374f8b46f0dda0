"""What a function, a run, its events and its failures are. Knows no provider and no wire."""
