package cli

import (
	"strings"
	"testing"
)

func TestDoctorNamesTheNamespacesThatItExamined(t *testing.T) {
	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	s := &session{t: t, server: p.url}
	if out, _, _ := s.run("", "doctor"); !strings.Contains(out, "schedules    the namespace default has none\n") {
		t.Errorf("without other namespaces:\n%s", out)
	}
	s.must("", "namespace set shop")
	for args, says := range map[string][]string{
		"doctor":                  {"no task of any namespace is dead", "the namespace default has none; --namespace NAME examines another namespace"},
		"doctor --namespace shop": {"no task of the namespace shop is dead", "schedules    the namespace shop has none\n"},
	} {
		out, stderr, _ := s.run("", s.words(args)...)
		for _, want := range says {
			if !strings.Contains(out, want) {
				t.Errorf("foliot %s does not say %q:\n%s%s", args, want, out, stderr)
			}
		}
	}
}
