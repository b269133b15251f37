package connect

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/foliot/foliot/internal/cli/contexts"
	"github.com/foliot/foliot/internal/usage"
)

// DefaultServer is called if neither a flag, a variable nor a context names a
// server.
const DefaultServer = "http://127.0.0.1:8750"

// target is the server that a command calls: the flags and variables, and for
// values that are missing there the context.
type target struct {
	contexts.Context

	Name string // of the context. contexts.None: none, or it is for another server
}

// Target returns the server that the flags name. The token, namespace and
// certificates of a context are used only for the server of this context.
// Otherwise --server could pass the token on.
func (f *Flags) Target() (*target, error) {
	file, err := contexts.Read()
	if err != nil {
		return nil, err
	}
	t := &target{Name: cmp.Or(f.Context, file.Current, contexts.None)}
	chosen, known := file.Contexts[t.Name]
	switch {
	case known || t.Name == contexts.None:
	case f.Context == "":
		return nil, usage.Errorf("contexts", "the current context %q does not exist: `foliot context use NAME` chooses another one", t.Name)
	default:
		return nil, usage.Errorf("--context", "there is no context %q: `foliot context ls` lists the existing ones", t.Name)
	}
	if known && f.Typed["context"] {
		if err := f.refuseOverrides(t.Name, chosen); err != nil {
			return nil, err
		}
	}
	if f.Server != "" && f.Server != chosen.Server { // another server: the context says nothing about it
		chosen, t.Name = contexts.Context{}, contexts.None
	}
	t.Server = cmp.Or(f.Server, chosen.Server, DefaultServer)
	t.Namespace = cmp.Or(f.Namespace, chosen.Namespace)
	t.CACert = cmp.Or(f.CACert, chosen.CACert)
	t.ClientCert = cmp.Or(f.ClientCert, chosen.ClientCert)
	t.ClientKey = cmp.Or(f.ClientKey, chosen.ClientKey)
	if t.TokenFile = f.TokenFile; f.Token == "" {
		t.TokenFile = cmp.Or(f.TokenFile, chosen.TokenFile)
	}
	return t, nil
}

// refuseOverrides returns an error if a variable would override a context that
// is on the command line: the command would act on another server or namespace
// than the user has just chosen.
func (f *Flags) refuseOverrides(name string, c contexts.Context) error {
	for _, s := range []struct {
		flag, given, own string
		always           bool // even if the context does not set it
	}{
		{"server", f.Server, c.Server, true},
		{"namespace", f.Namespace, c.Namespace, true},
		{"token", f.Token, c.TokenFile, false},
		{"token-file", f.TokenFile, c.TokenFile, false},
		{"ca-cert", f.CACert, c.CACert, false},
		{"client-cert", f.ClientCert, c.ClientCert, false},
		{"client-key", f.ClientKey, c.ClientKey, false},
	} {
		if s.given == "" || s.given == s.own || f.Typed[s.flag] || s.own == "" && !s.always {
			continue
		}
		variable := "FOLIOT_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
		return usage.Errorf("--context, "+variable, "the variable would override the context %s: unset it, or pass --%s", name, s.flag)
	}
	return nil
}

// place names a setting in an error: the flag, or the context if the flag is not
// given.
func (t *target) place(flag, given string) string {
	if given == "" && t.Name != contexts.None {
		return "context " + t.Name + ": " + flag
	}
	return flag
}

// CheckServer returns an error that names place, unless server is the URL of a
// server.
func CheckServer(place, server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage.Errorf(place, "invalid server URL %q: write a URL such as %s", server, DefaultServer)
	}
	return nil
}

// Page returns the URL of the web page of the server.
func (t *target) Page() string { return strings.TrimSuffix(t.Server, "/") + "/ui/" }
