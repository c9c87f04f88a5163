"""The one fault of this package: a document that cannot be read. It fails alone."""


class ParseError(ValueError):
    """A document that its parser cannot read.

    Args:
        document: The file or document id.
        element: Where in it, as a reader would look for it: "#/texts/5", "element 17", "line 3".
            Empty when the whole of it is meant.
        fault: What is wrong there.

    The fields go to `super().__init__` in order, so that pickle can rebuild the error.
    """

    def __init__(self, document: str, element: str, fault: str) -> None:
        super().__init__(document, element, fault)
        self.document, self.element, self.fault = document, element, fault

    def __str__(self) -> str:
        return ": ".join(filter(None, [self.document, self.element, self.fault]))
