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
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/fatal"
)

// TestThePagesListEveryCallOfTheClients compares the tables of calls with the
// code: by reflection for Go, and by the sources for the other languages.
func TestThePagesListEveryCallOfTheClients(t *testing.T) {
	compareCalls(t, "../docs/clients.md", "c", callsOfGo(reflect.TypeFor[client.Client]()))
	compareCalls(t, "../docs/clients.md", "a", callsOfGo(reflect.TypeFor[admin.Client]()))
	calls := map[string][]string{}
	for _, noun := range []string{"", "tasks", "schedules", "queues"} {
		for _, m := range regexp.MustCompile(`(?m)^  (?:async )?([a-z]\w*)\(`).FindAllStringSubmatch(read(t, "../clients/typescript/src/"+cmp.Or(noun, "client")+".ts"), -1) {
			if m[1] != "constructor" {
				calls[noun] = append(calls[noun], m[1])
			}
		}
	}
	compareCalls(t, "../clients/typescript/README.md", "client", calls)
	for source, client := range map[string]string{"sync": "Client", "async": "AsyncClient"} {
		calls, noun := map[string][]string{}, "none"
		for _, m := range regexp.MustCompile(`(?m)^(?:class (?:Async)?(\w+)|    ([a-z]\w*) = _(?:method|list)\()`).FindAllStringSubmatch(read(t, "../clients/python/src/foliot/_"+source+".py"), -1) {
			switch {
			case m[1] == "Client":
				noun = ""
			case m[1] != "":
				noun = strings.ToLower(m[1])
			default:
				calls[noun] = append(calls[noun], m[2])
			}
		}
		calls[""] = append(calls[""], "close") // it sends nothing
		if compareCalls(t, "../clients/python/README.md", "client", calls); len(calls["tasks"]) == 0 {
			t.Errorf("the tasks of the %s of Python were not found", client)
		}
	}
}

// callsOfGo returns the exported methods of each field of a client, and those
// of the client itself under the empty name.
func callsOfGo(of reflect.Type) map[string][]string {
	calls := map[string][]string{}
	add := func(noun string, of reflect.Type) {
		for method := range of.Methods() {
			calls[noun] = append(calls[noun], method.Name)
		}
	}
	add("", reflect.PointerTo(of))
	for _, field := range reflect.VisibleFields(of) {
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
