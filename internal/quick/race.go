//go:build race

package quick

const race = true
