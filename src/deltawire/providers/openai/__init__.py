"""The chat completions wire of OpenAI, which most model servers speak."""
