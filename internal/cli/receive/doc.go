// Package receive has the commands that receive callbacks: listen prints them,
// and bench measures them.
package receive
