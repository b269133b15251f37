// Package config reads the configuration of a server: flags, variables and a
// file become one checked Config.
package config
