package cli

import (
	"fmt"
	"runtime"

	"github.com/foliot/foliot/internal/buildinfo"
)

// version returns the version of this build as the flag --version prints it.
func version() string {
	commit := ""
	if c := buildinfo.Commit(); c != "" {
		commit = c + ", "
	}
	return fmt.Sprintf("foliot %s (%s%s, %s/%s)", buildinfo.Version(), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
