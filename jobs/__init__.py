"""The walk: from parsed documents to rows in Milvus, and Ray to walk it many times at once."""
