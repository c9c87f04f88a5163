"""Formulas as Markdown sets them, whatever marks a parser has put around them."""

_MARKS = (("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))


def display_formula(latex: str) -> str:
    """LaTeX between two lines of dollars; "" where there is none."""
    latex = latex.strip().removeprefix("$$").removesuffix("$$").strip()
    for opening, closing in _MARKS:
        inner = latex.removeprefix(opening).removesuffix(closing)
        if len(latex) - len(inner) == len(opening) + len(closing) and opening not in inner:
            latex = inner.strip()
            break
    return f"$$\n{latex}\n$$" if latex else ""
