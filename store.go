package foliot

import "github.com/foliot/foliot/internal/medium"

// Store is a place where tasks are kept. Packages foliot/dir, foliot/redis and
// foliot/foliottest return one for Open.
type Store interface{ medium.Medium }
