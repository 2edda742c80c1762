// Package crash holds tests that break builds: they kill the standalone binary
// at every place, take the disk away from it, and hold what it leaves behind
// against what an undisturbed build gives.
//
// They run on Linux alone: they find processes in /proc, stop a program at its
// system calls with seccomp(2), and make small file systems.
package crash
