package clients

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

func TestThePackagesHaveTheVersionOfTheServer(t *testing.T) {
	url, _ := strings.CutPrefix(serve(t)[0], "FOLIOT_SERVER=")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.json", nil)
	fatal.If(t, err)
	reply, err := http.DefaultClient.Do(req)
	fatal.If(t, err)
	defer reply.Body.Close()
	var document struct{ Info struct{ Version string } }
	fatal.If(t, json.NewDecoder(reply.Body).Decode(&document))
	python, err := os.ReadFile(filepath.Join(root, "clients", "python", "src", "foliot", "_version.py"))
	fatal.If(t, err)
	version := readManifest(t, filepath.Join(root, "clients", "typescript")).Version
	if !strings.Contains(string(python), `__version__ = "`+version+`"`) {
		t.Errorf("the TypeScript package has version %s, and the Python package has another:\n%s", version, python)
	}
	if !fits(document.Info.Version, version) {
		t.Errorf("the server has version %s, and the packages have %s: run make clients", document.Info.Version, version)
	}
}

// tag matches the version of a server that was built at a tag.
var tag = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?)(\+dirty)?$`)

// fits reports whether packages of a version belong to a server. A server of a
// commit without a tag has no version that they could have.
func fits(server, packages string) bool {
	found := tag.FindStringSubmatch(server)
	return found == nil || found[1] == packages
}

func TestAReleaseFitsOnlyItsOwnPackages(t *testing.T) {
	for _, c := range []struct {
		server, packages string
		want             bool
	}{
		{"v0.1.0", "0.1.0", true},
		{"v0.2.0", "0.1.0", false},
		{"v0.2.0+dirty", "0.1.0", false},
		{"v0.2.0-rc.1", "0.2.0-rc.1", true},
		{"v0.2.0", "0.2.0-rc.1", false},
		{"v0.1.1-0.20261127182354-2853ed46a5b1", "0.1.0", true},
		{"v0.0.0-20261127182354-2853ed46a5b1+dirty", "0.0.0", true},
		{"devel", "0.1.0", true},
	} {
		if got := fits(c.server, c.packages); got != c.want {
			t.Errorf("server %s, packages %s: %t", c.server, c.packages, got)
		}
	}
}
