"""The places where models run. Each knows the domain, none knows another or who calls it."""
