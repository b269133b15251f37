// Package receive has the command foliot listen, which receives callbacks.
package receive
