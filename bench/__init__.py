"""What a token costs: CPU of the server between one upstream and many callers, beside others in the same run."""
