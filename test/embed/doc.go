// Package embed tests programs that embed package foliot, from outside: they are
// killed and started again. `make test-embed` runs the long form.
package embed
