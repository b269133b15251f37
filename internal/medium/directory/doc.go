// Package directory keeps tasks in a directory of this machine.
package directory
