"""Development tools of the project; nothing here is installed with the package."""
