"""Schemas.

What a definition means: which payloads fit it, and which other definitions it gets along with.
It takes definitions and bytes and knows neither topics nor calls; the service hands what is
compiled here to the engine.
"""
