"""What AWS keeps for us: secrets, fetched with our own few requests. Imported when a setting names such a secret."""
