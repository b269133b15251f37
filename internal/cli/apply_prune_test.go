package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/servertest"
)

func TestPruneDeletesOnlyObjectsThatApplyMadeForTheOwner(t *testing.T) {
	s := newSession(t)
	s.must("", "queue set by-hand --rate 1")
	s.must("", "cron add by-hand @daily http://127.0.0.1:9/")
	const team = "kind: namespace\nname: NAME\n---\nkind: queue\nnamespace: NAME\nname: q\n---\nkind: schedule\nname: NAME\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/'}}\n"
	a, b := strings.ReplaceAll(team, "NAME", "a"), strings.ReplaceAll(team, "NAME", "b")
	s.applied(exit.OK, a, "--owner", "team-a")
	s.applied(exit.OK, b, "--owner", "team-b", "--prune")
	// An object that apply only changed is not its own.
	s.applied(exit.OK, "kind: queue\nname: by-hand\nrate: 2\n---\n"+a, "--owner", "team-a", "--prune")
	if out, _ := s.applied(exit.OK, mailQueue, "--owner", "team-a"); out != "+ queue mail\n" {
		t.Errorf("without --prune it prints %q", out)
	}
	if out, _ := s.applied(exit.Differs, mailQueue, "--owner", "team-a", "--prune", "--dry-run"); out != "- schedule a\n" {
		t.Errorf("the dry run prints %q", out)
	}
	// The files do not name the namespace a, so other files may describe it.
	out, errs := s.applied(exit.OK, mailQueue, "--owner", "team-a", "--prune")
	if want := "not deleted: 2 objects of the owner team-a in namespaces that the files do not name (a): --all-namespaces deletes them\n"; out != "- schedule a\n" || !strings.Contains(errs, want) {
		t.Errorf("it prints %q, %q", out, errs)
	}
	all := []string{"--owner", "team-a", "--prune", "--all-namespaces"}
	if _, errs := s.applied(exit.Usage, mailQueue, all...); !strings.Contains(errs, "delete 2 objects of http://") || !strings.Contains(errs, "--yes") {
		t.Errorf("without --yes: %q", errs)
	}
	want := "- queue a/q\n- namespace a\n"
	if out, _ := s.applied(exit.OK, mailQueue, append(all, "--yes")...); out != want {
		t.Errorf("it prints %q, want %q", out, want)
	}
	left := s.must("", "export --settings")
	shows(t, left, "kind: namespace\nname: b", "name: by-hand\nrate: 2", "name: by-hand\ncron", "name: mail", "namespace: b\nname: q", "namespace: default\nname: b")
	if strings.Contains(left, "namespace: a") || strings.Contains(left, "name: a") {
		t.Errorf("an object of team-a is left:\n%s", left)
	}
}

func TestAnObjectOfAnotherOwnerIsOnlyAdopted(t *testing.T) {
	s := newSession(t)
	s.applied(exit.OK, mailQueue, "--owner", "team-a")
	if out, errs := s.applied(exit.Conflict, mailQueue, "--owner", "team-b"); !strings.HasPrefix(out, `! queue mail cannot be changed: it belongs to the owner "team-a"`) || !strings.Contains(errs, "not changed: queue mail") {
		t.Errorf("it prints %q, and %q", out, errs)
	}
	if out, _ := s.applied(exit.OK, mailQueue, "--owner", "team-b", "--adopt"); out != "~ queue mail managed_by team-a -> team-b\n" {
		t.Errorf("it prints %q", out)
	}
	s.applied(exit.OK, "kind: queue\nname: new\n", "--owner", "team-a", "--prune")
	s.must("", "queue get mail")
	s.applied(exit.OK, "kind: queue\nname: other\n", "--owner", "team-b", "--prune")
	wants(t, exit.NotFound)(s.run("", "queue", "get", "mail"))
}

// Tenants set managed_by of their own queues and schedules. The operator's limits of
// the namespace must not depend on it.
func TestAnObjectOfATenantBlocksNoOtherObjectOfTheOperator(t *testing.T) {
	s := newSession(t)
	s.must("", "namespace set acme")
	s.applied(exit.OK, "kind: queue\nnamespace: acme\nname: mail\nrate: 7\n", "--owner", "tenant")
	files := "kind: namespace\nname: acme\nsuspended: true\nmax_pending: 5\n---\nkind: queue\nnamespace: acme\nname: mail\nrate: 1\n---\n" +
		"kind: queue\nnamespace: acme\nname: other\nrate: 1\n"
	if out, _ := s.applied(exit.Differs, files, "--dry-run"); !strings.Contains(out, "! queue acme/mail cannot be changed") {
		t.Errorf("the dry run prints %q", out)
	}
	_, errs := s.applied(exit.Conflict, files)
	shows(t, errs, "created 1, changed 1,", `not changed: queue acme/mail: it belongs to the owner "tenant"`)
	for _, want := range []string{"suspended: true", "max_pending: 5", "name: other\nrate: 1", "name: mail\nrate: 7"} {
		shows(t, s.must("", "export --settings"), want)
	}
}

func TestTheSettingsOfAQueueWithTasksAreDeletedOnlyWithConfirmation(t *testing.T) {
	s := newSession(t)
	const other = "kind: queue\nname: other\n"
	s.applied(exit.OK, mailQueue)
	s.must("", "add http://127.0.0.1:9/ --in 1h --queue mail --name t")
	_, errs := s.applied(exit.Usage, other, "--prune")
	shows(t, errs, "the settings of queue mail, which has 1 task.", "--yes")
	wants(t, exit.NotFound)(s.run("", "queue", "get", "other"))
	if out, _ := s.applied(exit.OK, other, "--prune", "--yes"); out != "+ queue other\n- queue mail\n" {
		t.Errorf("it prints %q", out)
	}
	shows(t, s.must("", "queue get mail"), "limits\tnone", "scheduled\t1")
}

func TestANamespaceThatIsInUseIsNotDeletedAndTheRestIsApplied(t *testing.T) {
	s := newSession(t)
	s.applied(exit.OK, "kind: namespace\nname: acme\n---\nkind: namespace\nname: beta\n")
	s.must("", "add http://127.0.0.1:9/ --in 1h --namespace acme")
	s.must("", "queue set by-hand --rate 1 --namespace beta")
	out, errs := s.applied(exit.Conflict, mailQueue, "--prune", "--all-namespaces", "--yes")
	if !strings.Contains(out, "! namespace acme cannot be deleted: it has 1 task") ||
		!strings.Contains(out, "! namespace beta cannot be deleted: it has the queue beta/by-hand") || !strings.Contains(errs, "created 1, changed 0, deleted 0") {
		t.Errorf("%s%s", out, errs)
	}
	s.must("", "queue get mail")
	s.must("", "queue get by-hand --namespace beta")
	wants(t, exit.Differs)(s.run("", "apply", "-f", settingsFile, "--prune", "--all-namespaces", "--dry-run"))
}

// The namespace is not in the files any more, but a new queue in it is.
func TestPruneKeepsTheNamespaceOfANewObject(t *testing.T) {
	s := newSession(t)
	s.applied(exit.OK, "kind: namespace\nname: acme\n")
	out, _ := s.applied(exit.Conflict, "kind: queue\nnamespace: acme\nname: new\n", "--prune", "--yes")
	if want := "+ queue acme/new\n! namespace acme cannot be deleted: the queue acme/new is in the files"; !strings.HasPrefix(out, want) {
		t.Errorf("it prints %q", out)
	}
	s.must("", "queue get new --namespace acme")
}

func TestPruneOfAllNamespacesIsForOperators(t *testing.T) {
	s := newSession(t)
	for _, more := range [][]string{{"--all-namespaces"}, {"--prune", "--all-namespaces", "--namespace", "default"}} {
		if _, errs := s.applied(exit.Usage, mailQueue, more...); !strings.Contains(errs, "--all-namespaces: it needs --prune and an operator's token") {
			t.Errorf("%v: %q", more, errs)
		}
	}
}

// On a terminal each deletion needs an answer, and the question names the
// server.
func TestDeletionsAreConfirmedOnATerminal(t *testing.T) {
	s := newSession(t)
	s.applied(exit.OK, mailQueue+"---\nkind: queue\nname: old\n")
	file := filepath.Join(s.dir, "settings.yaml")
	servertest.WriteFile(t, file, []byte(mailQueue))
	for _, c := range []struct {
		answer string
		code   int
	}{{"n\n", exit.Interrupted}, {"y\n", exit.OK}} {
		_, asked, err := s.terminal(strings.NewReader(c.answer), "apply -f "+file+" --prune")
		if exit.CodeOf(err) != c.code || !strings.Contains(asked, "delete 1 object of "+s.server+"? [y/N]") {
			t.Errorf("%q: %v %q", c.answer, err, asked)
		}
		if _, _, code := s.run("", "queue", "get", "old"); (code == exit.OK) != (c.code != exit.OK) {
			t.Errorf("%q: the queue has %d", c.answer, code)
		}
	}
}

func TestTheDefaultNamespaceIsNeverDeleted(t *testing.T) {
	m := newMoveTest(t)
	s := m.from
	s.applied(exit.OK, "kind: namespace\nname: default\nmax_pending: 10\n", "--adopt")
	if out, _ := s.applied(exit.OK, mailQueue, "--prune", "--yes"); out != "+ queue mail\n" {
		t.Errorf("it prints %q", out)
	}
	m.post("PUT", "/v1/namespaces/default", "application/json", `{"max_pending": 10, "managed_by": "apply"}`)
	s.must("", "queue rm mail")
	if out, _ := s.applied(exit.OK, mailQueue, "--prune", "--yes"); out != "+ queue mail\n" {
		t.Errorf("it prints %q", out)
	}
	shows(t, s.must("", "namespace ls"), "default\t0\t10")
}

func TestOwnersSurviveOtherCommandsAndAMove(t *testing.T) {
	m := newMoveTest(t)
	const objects = "kind: queue\nname: mail\n---\nkind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/'}}\n---\nkind: namespace\nname: acme\n"
	m.from.applied(exit.OK, objects)
	m.from.must("", "queue set mail --rate 3")
	m.from.must("", "queue pause mail")
	m.from.must("", "cron set s --every 2h")
	m.from.must("", "cron set s --paused")
	m.from.must("", "namespace set acme --max-pending 10")
	m.move()
	for _, c := range []struct {
		s    *session
		line string
	}{{m.from, "queue get mail"}, {m.from, "cron get s"}, {m.to, "cron get s"}} {
		shows(t, c.s.must("", c.line), "managed by\tapply\n")
	}
	want := "+ queue other\n- schedule s\n- queue mail\n- namespace acme\n"
	if out, _ := m.from.applied(exit.OK, "kind: queue\nname: other\n", "--prune", "--all-namespaces", "--yes"); out != want {
		t.Errorf("it prints %q, want %q", out, want)
	}
}
