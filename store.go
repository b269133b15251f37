package foliot

import "github.com/foliot/foliot/internal/medium"

// Store is a place for tasks. Packages foliot/dir, foliot/redis and
// foliot/foliottest make one for Open.
type Store interface{ medium.Medium }
