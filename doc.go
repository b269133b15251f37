// Package foliot is the module's root and holds no code: the engine is package
// wheel, the service is cmd/foliot. Its test holds the table of allowed imports,
// with the reason for each row.
package foliot
