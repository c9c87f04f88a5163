"""`kitelift eval`: ways of cutting, compared on the user's own questions."""
