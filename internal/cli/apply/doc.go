// Package apply has the command foliot apply, which makes the namespaces,
// queues and schedules of a server equal to those in files.
//
// A plan is a list of changes: the differences between the objects of the files
// (package manifest) and those of the server. Each change holds the version that
// was read, so a server refuses it if another client was faster.
//
// Export is the reverse way, for foliot export --settings.
package apply
