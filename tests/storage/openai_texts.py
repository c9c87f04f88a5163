"""Texts for an embedder, and what a server got of them."""

from storage.canary import CANARY_TEXT


def texts(count, start=0):
    return [f"text number {i} of many" for i in range(start, start + count)]


def sent(server):
    """The texts of each call, canaries apart."""
    return [call.texts for call in server.calls() if call.texts != [CANARY_TEXT]]
