// Package usage has the error for an invalid flag, variable or argument. All
// packages can return it. The command line then exits with the code for invalid
// input.
package usage
