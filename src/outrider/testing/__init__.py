"""The public test kit: real implementations that a test can steer."""
