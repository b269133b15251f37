// Package embed tests programs that embed package foliot from outside: it kills
// them and starts them again. `make test-embed` makes more kills.
package embed
