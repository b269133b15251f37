// Package config reads the configuration of a server: it checks the values of
// flags, environment variables and a file, and combines them into one Config.
package config
