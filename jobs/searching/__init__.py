"""`kitelift search`: what a retriever would get, and how a person reads it."""
