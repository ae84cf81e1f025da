"""Resources.

What exists and has a name: projects, topics, subscriptions, snapshots, with what they retain and
the alarms of their time.
It may know delivery, the log and values.
"""
