"""The log.

The messages of a topic in the order of their publishing, and how they get there.
It may know values.
"""
