"""What is raised for certificates that cannot be used."""


class TlsError(Exception):
    """Certificate or key cannot be used, or not be made."""
