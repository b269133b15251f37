package records

import (
	"embed"

	"github.com/foliot/foliot/internal/store/codec"
)

//go:embed scripts/*.lua
var sources embed.FS

// errDamaged marks keys and values that this code cannot have written.
var errDamaged = codec.ErrDamaged
