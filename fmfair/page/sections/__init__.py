"""The sections of the document, one module each: what it says, without how it looks."""
