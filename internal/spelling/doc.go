// Package spelling finds the known word that a misspelled one was meant to be.
package spelling
