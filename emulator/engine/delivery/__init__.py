"""Delivery.

What one subscription has still to deliver, and what became of each message it delivered.
It may know the log and values.
"""
