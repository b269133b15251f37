// Package migration moves the contents of a store into an empty store of any kind. It
// uses only the contract of stores: it lists records, and writes them by the step
// task.Adopt. So indexes, counts and Idempotency-Keys follow by the code of each store.
//
// First both stores get a settings.Migration, which closes them to all other steps. So
// the source does not change, and neither store sends a task in the meantime. A migration
// that was interrupted is run again: it needs no position, because a record that is equal
// is not written again.
package migration
