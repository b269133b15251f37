// Package spelling finds the known word that a misspelled word probably means.
package spelling
