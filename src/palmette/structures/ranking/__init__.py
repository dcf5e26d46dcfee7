"""Orders of documents: inference, losses, Plackett-Luce."""
