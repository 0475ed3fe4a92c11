"""What a release costs and how safe it is, in numbers."""
