"""What every backend must do, as test classes to inherit from. They need pytest, pytest-asyncio and hypothesis."""
