"""Small DoclingDocuments for tests, and what is read from them."""

from chunking.parsers import parse_docling


def text(number, words, label="text", **fields):
    return {"self_ref": f"#/texts/{number}", "label": label, "text": words} | fields


def refs(*references):
    return [{"$ref": reference} for reference in references]


def texts(count):
    return refs(*(f"#/texts/{number}" for number in range(count)))


def document(**parts):
    """A small document whose body holds all its texts, unless told otherwise."""
    parts.setdefault("body", {"children": texts(len(parts.get("texts", [])))})
    return {"schema_name": "DoclingDocument", "version": "1.10.0", "name": "n"} | parts


def parsed(value, **options):
    return parse_docling(value, document_id="d", **options)


def read(data, name, **options):
    return parsed((data / "docling" / name).read_bytes(), **options)


def kinds_and_texts(result):
    return [(block.kind, block.text) for block in result.blocks]


def cell(row, column, words, **fields):
    start = {"start_row_offset_idx": row, "start_col_offset_idx": column, "text": words}
    return start | {"row_span": 1, "col_span": 1} | fields
