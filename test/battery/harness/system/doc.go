// Package system starts child processes and asks the operating system about
// processes: their memory and processor time. It also bounds their
// memory and their disk, and measures how late the machine wakes a process.
package system
