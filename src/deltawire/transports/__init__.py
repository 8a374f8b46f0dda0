"""The wires. Each turns requests into runs and events into bytes, and knows nothing of the others."""
