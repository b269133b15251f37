// Package system starts child processes and asks the operating system about
// processes: their memory, processor time and sockets. It also bounds their
// memory and their disk, and measures how late the machine wakes a process.
package system
