package pgstore

import (
	"strings"

	"github.com/foliot/foliot/internal/store"
)

// permitName encodes a scope as a text. A destination can contain a slash, but the
// other parts cannot.
func permitName(s store.PermitScope) string {
	return s.Namespace + "/" + s.Queue + "/" + s.Destination
}

func parsePermitName(name string) (s store.PermitScope, ok bool) {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 3 {
		return s, false
	}
	return store.PermitScope{Namespace: parts[0], Queue: parts[1], Destination: parts[2]}, true
}
