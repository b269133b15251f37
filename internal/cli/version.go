package cli

import (
	"fmt"
	"runtime"

	"github.com/foliot/foliot/internal/buildinfo"
)

func version() string {
	commit := ""
	if c := buildinfo.Commit(); c != "" {
		commit = c + ", "
	}
	return fmt.Sprintf("foliot %s (%s%s, %s/%s)", buildinfo.Version(), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
