"""The doors to the outside: object stores, embedding models, Milvus. They decide nothing."""
