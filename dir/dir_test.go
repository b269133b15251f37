package dir

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// modules has the modules that a program with a directory links. A new module
// costs each user of this package a download, and makes each program larger.
var modules = []string{
	"code.dny.dev/ssrf", "github.com/DataDog/zstd", "github.com/RaduBerinde/axisds", "github.com/RaduBerinde/btreemap", "github.com/beorn7/perks",
	"github.com/cespare/xxhash/v2", "github.com/cockroachdb/crlib", "github.com/cockroachdb/errors", "github.com/cockroachdb/logtags",
	"github.com/cockroachdb/pebble/v2", "github.com/cockroachdb/redact", "github.com/cockroachdb/swiss", "github.com/cockroachdb/tokenbucket",
	"github.com/foliot/foliot", "github.com/getsentry/sentry-go", "github.com/gogo/protobuf", "github.com/golang/snappy",
	"github.com/klauspost/compress", "github.com/kr/pretty", "github.com/kr/text", "github.com/minio/minlz", "github.com/munnerz/goautoneg",
	"github.com/pkg/errors", "github.com/prometheus/client_golang", "github.com/prometheus/client_model", "github.com/prometheus/common",
	"github.com/prometheus/procfs", "github.com/rogpeppe/go-internal", "golang.org/x/exp", "golang.org/x/net", "golang.org/x/sys",
	"golang.org/x/text", "google.golang.org/protobuf",
}

func TestAProgramWithADirectoryLinksTheseModules(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-buildvcs=false", "-deps", "-f", "{{if not .Standard}}{{.Module.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	linked = slices.Compact(linked)
	want := slices.Clone(modules)
	slices.Sort(want)
	for _, m := range linked {
		if !slices.Contains(want, m) && m != "github.com/DataDog/zstd" { // with cgo only
			t.Errorf("it links %s", m)
		}
	}
	for _, m := range want {
		if !slices.Contains(linked, m) && m != "github.com/DataDog/zstd" {
			t.Errorf("it no longer links %s: remove it from the list", m)
		}
	}
}
