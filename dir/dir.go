// Package dir keeps the tasks of package foliot in a directory of this machine.
// It needs no server. Only one process at a time can open a directory. A call
// that changes the store returns after the change is on the disk (fsync).
package dir

import (
	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/directory"
)

// Store returns the store in the directory at path. foliot.Open creates the
// directory if it does not exist. `foliot serve --data` uses the same format.
func Store(path string) foliot.Store {
	return engine.NewStore(directory.Medium{Path: path}).(foliot.Store)
}
