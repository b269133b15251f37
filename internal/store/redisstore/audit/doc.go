// Package audit keeps the audit log of a store in streams of Redis: it reads pages
// of entries, and removes entries by their age and by their number.
//
// Entries are appended by the scripts that make the change that they record. So the
// package only says how an entry is encoded, and which stream it belongs to.
package audit
