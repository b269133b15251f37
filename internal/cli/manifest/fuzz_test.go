package manifest

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
)

// Any file is refused with errors, or its objects are the same after they were
// written and read again.
func FuzzFilesAreReadAsTheyAreWritten(f *testing.F) {
	golden, err := os.ReadFile("../testdata/settings.yaml")
	fatal.If(f, err)
	for document := range strings.SplitSeq(string(golden), "---\n") {
		f.Add(document)
	}
	f.Add("kind: schedule\nname: s\nevery: 1h\ntask: {work: {kind: k, args: [1e400, -0, .5, 0x1F, 1_000, ~, yes, 2030-01-02, \"\\x00\", !!binary AA==]}}\n")
	f.Add("kind: schedule\nname: s\nevery: 1h\ntask: {work: {kind: k, args: [!!float 1e400, !!float 1.5e3, -0, 0.5, 'no', '010', '1:30', '1_000', '.5', '.inf', '2030-01-02', 'y']}}\n")
	f.Add("? [a]\n: b\n--- &a\n*a\n")
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := Read([]string{"-"}, strings.NewReader(text), "default")
		if err != nil {
			return
		}
		for _, o := range objects {
			var out bytes.Buffer
			if err := Write(&out, o, client.QueueSettings{}, true); err != nil {
				t.Fatalf("%s cannot be written: %v\n%s", o.Key, err, text)
			}
			again, err := Read([]string{"-"}, &out, "")
			if err != nil || len(again) != 1 || again[0].Key != o.Key {
				t.Fatalf("%s is read again as %v: %v", o.Key, again, err)
			}
			d, err := Diff(o.Complete(client.QueueSettings{}), again[0].Complete(client.QueueSettings{}))
			if err != nil || len(d) > 0 {
				t.Fatalf("%s differs in %s: %v\n%s", o.Key, d, err, text)
			}
		}
	})
}
