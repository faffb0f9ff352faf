internal import Glibc

/// Blocks the current thread for five milliseconds.
func sleepBriefly() { usleep(5000) }
