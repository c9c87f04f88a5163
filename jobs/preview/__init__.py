"""`kitelift chunk`: what the chunker makes of one file, for people to look at."""
