package flags

import (
	"fmt"
	"os"

	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/usage"
)

// CheckStore refuses to write into a data directory that foliot serve would not
// read, because FOLIOT_STORE names a Redis. The text of instead is the remedy in
// the error.
func CheckStore(instead string) error {
	if !redisurl.Is(os.Getenv("FOLIOT_STORE")) {
		return nil
	}
	return usage.Errorf("--data", "FOLIOT_STORE makes a Redis the store, and a server with a Redis reads no directory: %s. To use the directory, put FOLIOT_STORE= before the command", instead)
}

// UnusedData returns a note if a server with a Redis has a data directory in
// its settings, which it would not read. Scripts and units set one for all
// servers, so it is no error.
func UnusedData(from config.Origins, redis bool) (note string) {
	data := from.Named("data")
	if !redis || data.Kind == "default" {
		return ""
	}
	return fmt.Sprintf("--data is not used: a server with a Redis reads no directory (%s)", data)
}
