"""Values.

What is said and shown in the same way everywhere: names, limits, errors, durations, labels,
masks, pages.
It knows no other room of the engine.
"""
