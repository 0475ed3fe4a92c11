"""What several published tables about the same people reveal together."""
