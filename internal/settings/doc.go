// Package settings has the records that operators and clients make in addition
// to tasks: settings of queues, namespaces with their quotas and rates, access
// tokens and signing secrets. It also defines the entries of the audit log, and
// the actors of changes.
//
// The package is pure: it reads no clock and does no I/O. An Edit takes the
// present Settings and returns the records that change, which a store writes
// together with the audit entry, before it publishes new Settings.
package settings
