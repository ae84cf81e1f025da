"""How an emulator is set up."""
