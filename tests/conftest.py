"""What holds for every test."""

import signal

# A shell that starts us in the background lets SIGINT be ignored, and our children would inherit that: then no test of
# an interrupt could ever pass.
signal.signal(signal.SIGINT, signal.default_int_handler)
