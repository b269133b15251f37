package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

// recordRefusals records the refusals until now, as maintenance does each
// minute.
func (s *service) recordRefusals() {
	s.Helper()
	if _, err := s.store.Configure(s.Context(), 0, []settings.Edit{settings.Note(s.Refusals())}); err != nil {
		s.Fatal(err)
	}
}

// auditLog returns the sorted entries of an action, each as one line.
func (s *service) auditLog(action, token string, headers ...string) (lines []string) {
	s.Helper()
	var log api.AuditList
	r := s.do("GET", "/v1/audit?limit=1000&action="+action, "", append(headers, "Authorization: Bearer "+token)...).want(200, &log)
	if strings.Contains(string(r.body), settings.TokenPrefix) {
		s.Errorf("a token is in the log: %s", r.body)
	}
	for _, e := range log.Entries {
		detail, _, _ := strings.Cut(e.Detail, " since")
		lines = append(lines, strings.Join([]string{e.By, e.Addr, e.Namespace, e.Target, detail}, " "))
	}
	slices.Sort(lines)
	return lines
}

func TestRefusedTokensAndScopesAreInTheAuditLog(t *testing.T) {
	s := serve(t)
	root := s.makeToken("", `{"namespace": "*", "scope": "admin"}`)
	s.do("PUT", "/v1/namespaces/acme", `{}`, "Authorization: Bearer "+root.Token).want(201, nil)
	admin := s.makeToken(root.Token, `{"namespace": "acme", "scope": "admin"}`)
	reader := s.makeToken(root.Token, `{"namespace": "acme", "scope": "read"}`)
	old := s.makeToken(root.Token, `{"namespace": "acme", "scope": "read"}`)
	s.do("DELETE", "/v1/tokens/"+old.ID, "", "Authorization: Bearer "+root.Token).want(200, nil)
	unknown, _ := settings.MintToken()

	for range 3 {
		s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+old.Token).want(401, nil)
	}
	s.do("GET", "/v1/backup", "", "Authorization: Bearer "+unknown).want(401, nil)
	s.do("GET", "/v1/backup", "", "Authorization: Bearer x").want(401, nil)
	s.do("GET", "/v1/backup", "", "Authorization: Bearer "+admin.Token).want(403, nil)
	s.do("DELETE", "/v1/queues/q", "", "Authorization: Bearer "+reader.Token).want(403, nil)
	s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+reader.Token, "Foliot-Namespace: default").want(403, nil)
	s.do("GET", "/v1/tasks", "").want(401, nil) // without a token there is no entry
	s.recordRefusals()
	s.recordRefusals() // no entry twice

	own := []string{
		"token:" + admin.ID + " 192.0.2.1 acme " + admin.ID + " GET /v1/backup: operator_only, once",
		"token:" + reader.ID + " 192.0.2.1 acme " + reader.ID + " DELETE /v1/queues/{queue}: insufficient_scope, once",
		"token:" + reader.ID + " 192.0.2.1 acme " + reader.ID + " GET /v1/tasks: wrong_namespace, once",
	}
	slices.Sort(own)
	if got := s.auditLog("scope.refuse", admin.Token); !slices.Equal(got, own) {
		t.Errorf("the namespace's admin reads\n%s", strings.Join(got, "\n"))
	}
	ended := "token:" + old.ID + " 192.0.2.1 acme " + old.ID + " GET /v1/tasks: token_invalid, 3 times"
	if got := s.auditLog("token.refuse", admin.Token); !slices.Equal(got, []string{ended}) {
		t.Errorf("the namespace's admin reads\n%s", strings.Join(got, "\n"))
	}
	all := []string{ended, "unknown 192.0.2.1   GET /v1/backup: token_invalid, once", "unknown 192.0.2.1   GET /v1/backup: token_malformed, once"}
	slices.Sort(all)
	if got := s.auditLog("token.refuse", root.Token); !slices.Equal(got, all) {
		t.Errorf("an operator reads\n%s", strings.Join(got, "\n"))
	}
}

// TestAStrangerDoesNotFillTheAuditLog, from any number of addresses: further
// refusals are counted.
func TestAStrangerDoesNotFillTheAuditLog(t *testing.T) {
	n := 0
	s := serve(t, func(c *api.Config) {
		c.ClientAddr = func(*http.Request) netip.Addr { n++; return netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}) }
	})
	root := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"namespace": "*", "scope": "admin"}`), 201)
	const guesses = 500 // ten times what all refusals of a minute may record
	for range guesses {
		s.do("GET", "/v1/tasks", "", "Authorization: Bearer x").want(401, nil)
	}
	s.recordRefusals()
	got := s.auditLog("token.refuse", root.Token)
	if len(got) != 11 || !slices.ContainsFunc(got, func(line string) bool { return strings.HasSuffix(line, fmt.Sprint(guesses-10, " more")) }) {
		t.Errorf("%d guesses made %d entries:\n%s", guesses, len(got), strings.Join(got, "\n"))
	}
}

func TestABackupIsInTheAuditLog(t *testing.T) {
	s := serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnBackup: func(_ context.Context, w io.Writer) error {
			_, err := w.Write([]byte("all there is"))
			return err
		}}
	})
	root := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"namespace": "*", "scope": "admin"}`), 201)
	s.do("HEAD", "/v1/backup", "", "Authorization: Bearer "+root.Token).want(200, nil)
	if got := s.auditLog("backup.take", root.Token); len(got) != 0 {
		t.Errorf("HEAD has entries: %v", got)
	}
	s.do("GET", "/v1/backup", "", "Authorization: Bearer "+root.Token).want(200, nil)
	if got, want := s.auditLog("backup.take", root.Token), []string{"token:" + root.ID + " 192.0.2.1   "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
