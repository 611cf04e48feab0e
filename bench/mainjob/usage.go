package main

import (
	"syscall"
	"time"
)

// cpuTime is the user and system time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // cannot fail with a valid pointer (getrusage(2))
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS is the most memory that this process had resident, in megabytes.
func peakRSS() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024 // kilobytes on Linux
}
