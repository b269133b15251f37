package cli

import (
	"context"
	"sync"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
)

// namedNamespaces is the number of other namespaces that a note names.
const namedNamespaces = 5

// whereOf returns a function that returns the namespace in which the command
// acted, or the zero value if it is unknown. If no flag, variable or context
// names the namespace, the first call sends requests to the server.
func whereOf(ctx context.Context, calls *connect.Flags) func() console.Where {
	return sync.OnceValue(func() (where console.Where) {
		target, err := calls.Target()
		if err != nil {
			return where
		}
		if where.Namespace = target.Namespace; where.Namespace != "" {
			return where
		}
		api, err := calls.Client()
		if err != nil {
			return where
		}
		name, all, err := calls.Scope(ctx, api)
		if err != nil {
			return where
		}
		where.Namespace = name
		if all {
			where.Others = othersThan(ctx, api, name)
		}
		return where
	})
}

// othersThan returns the first names of other namespaces, and … if there are
// more.
func othersThan(ctx context.Context, api *client.Client, name string) (others []string) {
	for n, err := range admin.New(api).Namespaces.List(ctx) {
		switch {
		case err != nil:
			return others
		case n.Name == name:
		case len(others) == namedNamespaces:
			return append(others, "…")
		default:
			others = append(others, n.Name)
		}
	}
	return others
}
