"""Go's text/template in Python: the same text for the same data, and the same errors, within bounds."""
