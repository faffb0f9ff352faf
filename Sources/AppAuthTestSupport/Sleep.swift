internal import Glibc

/// Five milliseconds, of this thread.
func sleepBriefly() { usleep(5000) }
