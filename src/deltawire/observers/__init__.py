"""Watch runs. They know the domain only."""
