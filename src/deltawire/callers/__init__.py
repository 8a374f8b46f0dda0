"""The other side of our wires: callers of a deployment, wherever it stands, who note when what arrives."""
