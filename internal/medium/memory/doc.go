// Package memory keeps tasks in the memory of the process, for tests and trials.
package memory
