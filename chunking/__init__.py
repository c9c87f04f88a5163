"""Pure: a Document in, Chunks out. No network, no Ray, no clock."""
