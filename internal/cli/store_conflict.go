package cli

import (
	"os"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/usage"
)

// checkRead refuses to write into a directory for a server that would not read
// it: foliot serve, started in the same place, has its tasks in a Redis. instead
// says what to do then.
func checkRead(parsed *kong.Context, instead string) error {
	store, from, err := storeSaid(parsed.Model.Node)
	if err != nil || !redisurl.Is(store) {
		return err
	}
	return usage.Errorf("--data", "%s names a Redis as the store, and a server on that reads no directory: %s. If the directory is meant, put FOLIOT_STORE= before the command", from, instead)
}

// storeSaid returns what the environment says to foliot serve of its store, by a
// variable or by the file that one names, and where. A variable goes before the
// file, an empty one too.
func storeSaid(root *kong.Node) (store, from string, err error) {
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
	store, _ = file.Keys["store"].Value.(string) // what is missing is ""
	return store, "store in " + path, nil
}

// commandNamed returns a command of the model.
func commandNamed(root *kong.Node, name string) *kong.Node {
	for _, command := range root.Children {
		if command.Name == name {
			return command
		}
	}
	return nil
}
