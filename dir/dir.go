// Package dir keeps the tasks of package foliot in a directory of this machine.
// It needs no server. One process at a time can open a directory. Each change is
// on the disk (fsync) before its call returns.
package dir

import (
	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/medium/directory"
)

// Store returns the store in a directory, which foliot.Open makes if it does
// not exist. `foliot serve --data` uses the same format.
func Store(path string) foliot.Store { return directory.Medium{Path: path} }
