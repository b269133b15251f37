// Package foliot is the module's root and holds no code: the engine is package
// wheel, the service is cmd/foliot. Its test holds the table of who may import
// whom, with the reason for each line.
package foliot
