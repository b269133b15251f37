package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/cron"
	"github.com/foliot/foliot/internal/spelling"
	"github.com/foliot/foliot/internal/usage"
)

// ourVariables is the prefix of each variable that sets a flag.
const ourVariables = "FOLIOT_"

// foreignVariables matches variables with our prefix that set no flag.
// Kubernetes sets such variables in every container if a service is named
// foliot or foliot-redis. Our own tests use some too.
var foreignVariables = regexp.MustCompile(`^FOLIOT_(TEST_.*|REQUIRE_REDIS|SEEDS|([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?))$`)

// checkEnvironment refuses variables that begin with FOLIOT_ and set nothing.
// Otherwise a misspelled variable would silently leave a flag at its default.
func checkEnvironment(root *kong.Node, environment []string) error {
	var known []string
	for _, name := range variablesOf(root) {
		known = append(known, strings.TrimPrefix(name, ourVariables))
	}
	for _, setting := range environment {
		name, value, _ := strings.Cut(setting, "=")
		short, ours := strings.CutPrefix(name, ourVariables)
		if !ours || slices.Contains(known, short) || foreignVariables.MatchString(name) {
			continue
		}
		if strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://") { // from Kubernetes too
			continue
		}
		meant := ": unset it"
		if near := spelling.Nearest(short, known); near != "" {
			meant += "; did you mean " + ourVariables + near + "?"
		}
		return usage.Errorf(name, "unknown variable%s", meant)
	}
	return nil
}

// variablesOf returns the variables of all commands below a node.
func variablesOf(node *kong.Node) []string {
	var names []string
	for _, f := range node.Flags {
		names = append(names, f.Tag.Envs...)
	}
	for _, child := range node.Children {
		names = append(names, variablesOf(child)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkFlags refuses empty names on the command line. A script with an empty
// variable would otherwise create a task under another name, or change the
// wrong tasks. For foliot cron set, an empty value resets a field to its
// default. A command that calls no server refuses the choice of one, unless the
// flag comes before the command: that may be an alias of the shell.
func checkFlags(parsed *kong.Context) error {
	selected, named := parsed.Selected(), false
	run := selected.Target.Addr().MethodByName("Run").Type().String()
	calls := strings.Contains(run, "*client.Client") || strings.Contains(run, "connect.")
	resets := selected.FullPath() == "foliot cron set"
	for _, p := range parsed.Path {
		named = named || p.Command == selected
		if p.Flag != nil && !p.Resolved && named && !calls && slices.Contains([]string{"server", "context", "namespace"}, p.Flag.Name) {
			return usage.Errorf("--"+p.Flag.Name, "this command calls no server: omit the flag")
		}
		if p.Flag == nil || p.Resolved || !slices.Contains(neverEmpty, p.Flag.Name) {
			continue
		}
		if resets && cron.CanReset(p.Flag.Name) {
			continue
		}
		if text, ok := p.Flag.Target.Interface().(string); ok && text == "" {
			return usage.Errorf("--"+p.Flag.Name, "the value is empty: pass a value, or omit the flag")
		}
	}
	return nil
}

// neverEmpty lists the flags that name an object and those that select tasks.
var neverEmpty = []string{"server", "context", "name", "queue", "namespace", "reason", "schedule", "due-before", "due-after", "ended-after", "ended-before", "destination", "contains", "prefix", "for", "in", "at"}
