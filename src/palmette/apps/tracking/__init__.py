"""Cell tracking for people: movies in, lineages out, and how good they are."""
