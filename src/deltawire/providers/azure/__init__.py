"""Azure OpenAI: the chat completions wire under Azure's URLs and credentials."""
