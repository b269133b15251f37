package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/spelling"
	"github.com/foliot/foliot/internal/usage"
)

// ourVariables begins the name of each variable that sets a flag.
const ourVariables = "FOLIOT_"

// foreignVariables are those that others make under such names: Kubernetes, in every
// container, for a service that is called foliot or foliot-redis; and our own tests.
var foreignVariables = regexp.MustCompile(`^FOLIOT_(TEST_.*|REQUIRE_REDIS|SEEDS|([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?))$`)

// checkEnvironment refuses variables that begin with FOLIOT_ and set nothing: a
// misspelled one would leave a flag at its default without a word.
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
		if strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://") { // Kubernetes too
			continue
		}
		meant := ""
		if near := spelling.Nearest(short, known); near != "" {
			meant = "; did you mean " + ourVariables + near + "?"
		}
		return usage.Errorf(name, "there is no such variable%s", meant)
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

// checkEmpty refuses empty names on the command line: a script whose variable is
// empty would create a task under another name, or act on other tasks than meant.
// For foliot cron set, an empty value gives a field of the schedule its default.
func checkEmpty(parsed *kong.Context) error {
	selected := parsed.Selected()
	resets := selected != nil && selected.FullPath() == "foliot cron set"
	for _, p := range parsed.Path {
		if p.Flag == nil || p.Resolved || !slices.Contains(neverEmpty, p.Flag.Name) {
			continue
		}
		if resets && slices.ContainsFunc(scheduleFields, func(f scheduleField) bool { return f.flag == p.Flag.Name }) {
			continue
		}
		if text, ok := p.Flag.Target.Interface().(string); ok && text == "" {
			return usage.Errorf("--"+p.Flag.Name, "it is empty; leave it out if it is not meant")
		}
	}
	return nil
}

// neverEmpty are the flags that name something, and those that choose tasks.
var neverEmpty = []string{"name", "queue", "namespace", "reason", "schedule", "due-before", "due-after", "prefix", "for", "in", "at"}
