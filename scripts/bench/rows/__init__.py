"""What is measured: each row runs on a fresh server of its own and yields one or more figures."""
