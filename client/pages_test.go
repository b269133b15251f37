package client_test

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
)

// TestThePagesListEveryCallOfTheClients compares the tables of calls with the
// code: by reflection for Go, and by the sources for the other languages.
func TestThePagesListEveryCallOfTheClients(t *testing.T) {
	compareCalls(t, "../docs/clients.md", "c", callsOfGo())
	for _, c := range []struct{ readme, sources, call string }{
		{"../clients/typescript/README.md", "../clients/typescript/src/%.ts", `(?m)^  (?:async )?([a-z]\w*)\(`},
		{"../clients/python/README.md", "../clients/python/src/foliot/_%.py", `(?m)^    def ([a-z]\w*)\(`},
	} {
		calls := map[string][]string{}
		for _, noun := range []string{"", "tasks", "schedules", "queues"} {
			source := strings.Replace(c.sources, "%", cmp.Or(noun, "client"), 1)
			for _, m := range regexp.MustCompile(c.call).FindAllStringSubmatch(read(t, source), -1) {
				if m[1] != "constructor" {
					calls[noun] = append(calls[noun], m[1])
				}
			}
		}
		compareCalls(t, c.readme, "client", calls)
	}
}

// callsOfGo returns the exported methods of each field of a Client, and those
// of the Client itself under the empty name.
func callsOfGo() map[string][]string {
	calls := map[string][]string{}
	add := func(noun string, of reflect.Type) {
		for method := range of.Methods() {
			calls[noun] = append(calls[noun], method.Name)
		}
	}
	add("", reflect.TypeFor[*client.Client]())
	for _, field := range reflect.VisibleFields(reflect.TypeFor[client.Client]()) {
		if field.IsExported() {
			add(field.Name, field.Type)
		}
	}
	return calls
}

// compareCalls compares calls with the rows "| `variable.noun` | `call`, … |" of
// a page.
func compareCalls(t *testing.T, page, variable string, calls map[string][]string) {
	t.Helper()
	row, code := regexp.MustCompile("(?m)^\\| `"+variable+"(?:\\.(\\w+))?` \\|(.*)\\|$"), regexp.MustCompile("`(\\w+)`")
	listed := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(read(t, page), -1) {
		for _, call := range code.FindAllStringSubmatch(m[2], -1) {
			listed[m[1]] = append(listed[m[1]], call[1])
		}
	}
	for noun, want := range calls {
		got := slices.Sorted(slices.Values(listed[noun]))
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s lists the calls %q of %s.%s, but the client has %q", filepath.Base(page), got, variable, noun, want)
		}
		delete(listed, noun)
	}
	for noun := range listed {
		t.Errorf("%s lists calls of %s.%s, which does not exist", filepath.Base(page), variable, noun)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	fatal.If(t, err)
	return string(text)
}
