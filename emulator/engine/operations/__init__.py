"""Operations.

What clients may ask, one file a noun: topics, subscriptions, snapshots, IAM policies, streams,
seeks.
It may know every other room of the engine.
"""
