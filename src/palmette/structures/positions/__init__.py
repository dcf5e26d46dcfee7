"""What structures with labels at positions share: tables, restrictions, the linear scorer."""
