// Package sparselog writes a repeated line of a log only some times in an
// interval. A store that is down can fail a thousand calls a second, and a few
// lines say as much as all of them.
package sparselog
