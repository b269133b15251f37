package flags

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/usage"
)

// CheckStore refuses to write into a data directory that foliot serve would not
// read, because in this environment its store is a Redis. The text of instead
// is the remedy in the error.
func CheckStore(parsed *kong.Context, instead string) error {
	store, from, err := storeOfServe(parsed.Model.Node)
	if err != nil || !redisurl.Is(store) {
		return err
	}
	return usage.Errorf("--data", "%s makes a Redis the store, and a server with a Redis reads no directory: %s. To use the directory, put FOLIOT_STORE= before the command", from, instead)
}

// UnusedData returns a note if a server with a Redis has a data directory in
// its settings, which it would not read. Scripts and units set one for all
// servers, so it is no error.
func UnusedData(from config.Origins, redis bool) (note string) {
	data := from.Named("data")
	if !redis || data.Kind == "default" {
		return ""
	}
	return fmt.Sprintf("data is not used: a server with a Redis reads no directory (%s)", data)
}

// storeOfServe returns the store that foliot serve would use in this
// environment, and the variable or file that sets it. FOLIOT_STORE overrides
// the file that FOLIOT_CONFIG names, even if FOLIOT_STORE is empty.
func storeOfServe(root *kong.Node) (store, from string, err error) {
	if store, ok := os.LookupEnv("FOLIOT_STORE"); ok {
		return store, "FOLIOT_STORE", nil
	}
	path := os.Getenv("FOLIOT_CONFIG")
	if path == "" {
		return "", "", nil
	}
	data, info, err := config.Read(path)
	if err != nil {
		return "", "", usage.Errorf("FOLIOT_CONFIG", "%v", err)
	}
	file, err := config.Parse(path, data, config.FileFlags(commandNamed(root, "serve")))
	if err == nil {
		err = file.CheckSecrets(info)
	}
	if err != nil {
		return "", "", usage.Errorf("FOLIOT_CONFIG", "%v", err)
	}
	store, _ = file.Keys["store"].Value.(string) // "" if the key is missing
	return store, "store in " + path, nil
}

// commandNamed returns the top-level command with that name, or nil.
func commandNamed(root *kong.Node, name string) *kong.Node {
	for _, command := range root.Children {
		if command.Name == name {
			return command
		}
	}
	return nil
}
