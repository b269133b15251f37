package flags

import (
	"fmt"
	"os"

	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/usage"
)

// CheckStore refuses to write into a data directory that foliot serve would not
// read, because FOLIOT_STORE names a Redis or PostgreSQL. The text of instead is
// the remedy in the error.
func CheckStore(instead string) error {
	kind := config.SharedStore(os.Getenv("FOLIOT_STORE"))
	if kind == "" {
		return nil
	}
	return usage.Errorf("--data", "FOLIOT_STORE makes %s the store, and a server with %[1]s reads no directory: %s. To use the directory, put FOLIOT_STORE= before the command", kind, instead)
}

// UnusedData returns a note if a server with its tasks in other servers has a data
// directory in its settings, which it would not read. Scripts and units set one for
// all servers, so it is no error.
func UnusedData(from config.Origins, servers string) (note string) {
	data := from.Named("data")
	if servers == "" || data.Kind == "default" {
		return ""
	}
	return fmt.Sprintf("--data is not used: the tasks are in %s (%s)", servers, data)
}
