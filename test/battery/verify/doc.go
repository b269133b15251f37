// Package verify compares the logs of a run: promises to clients, callbacks at
// receivers, and faults. Its functions are pure.
package verify
