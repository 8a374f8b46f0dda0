"""Servers that others write or wrote, to be measured beside deltawire; what they need is installed apart."""
