// Package identity finds out which store the servers of a Redis hold: its format, its
// identity, and its lost parts. A Watch closes the store if a part has another
// identity, and opens it again when the data is back.
package identity
