"""`kitelift convert`: files of every format into Parquet of parsed documents."""
