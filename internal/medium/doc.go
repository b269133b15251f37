// Package medium opens the stores of a node. Each medium is a package of its
// own, so that a program links only the stores that it uses.
package medium
