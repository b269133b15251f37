package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/manifest"
	"github.com/foliot/foliot/internal/cli/wording"
)

// prune adds the deletions to a plan: the objects of the owner that are not in
// the files. Objects are deleted in the reverse order of their creation. It
// looks in the namespace of the scope, or in all. Objects in a namespace that
// the files do not name stay, unless everywhere is true: another set of files
// may describe them.
func (p *planner) prune(ctx context.Context, result *plan, within scope, everywhere bool) error {
	spaces, err := p.server.namespaces(ctx, within)
	if err != nil {
		return err
	}
	var gone, kept []stored
	for _, space := range spaces {
		inside, err := p.server.inside(ctx, space.Name, false)
		if err != nil {
			return err
		}
		if within.all && !isDefault(space.Key) {
			inside = append(inside, space)
		}
		named := everywhere || !within.all || p.names(space.Name)
		left := 0
		for _, s := range inside {
			switch {
			case *s.Owner() != p.owner || p.objects[s.Key] != nil:
				kept = append(kept, s)
			case named:
				gone = append(gone, s)
			default:
				left++
			}
		}
		if left > 0 {
			result.left, result.leftIn = result.left+left, append(result.leftIn, space.Name)
		}
	}
	slices.SortFunc(gone, func(a, b stored) int { return b.Compare(a.Key) })
	for _, s := range gone {
		if s.Kind != manifest.Schedule { // a namespace or a queue of a list has no entity tag
			found, err := p.server.get(ctx, s.Key)
			if err != nil {
				return err
			}
			if found == nil || *found.Owner() != p.owner { // another client was faster
				continue
			}
			s = *found
		}
		if why := p.blocks(s, kept); why != "" {
			result.blocked = append(result.blocked, change{Key: s.Key, Action: deleted, Refused: why})
			continue
		}
		d := change{Key: s.Key, Action: deleted, condition: s.condition}
		if s.Kind == manifest.Queue {
			d.Tasks = total(s.counts)
		}
		result.changes = append(result.changes, d)
	}
	return nil
}

// names reports whether an object of the files is in a namespace, or is that
// namespace.
func (p *planner) names(namespace string) bool {
	for key := range p.objects {
		if key.Namespace == namespace || key == (manifest.Key{Kind: manifest.Namespace, Name: namespace}) {
			return true
		}
	}
	return false
}

// blocks returns the reason why an object cannot be deleted, or "". The server
// deletes no namespace with tasks or schedules. It would delete the settings of
// queues that apply must keep.
func (p *planner) blocks(s stored, kept []stored) string {
	if s.Kind != manifest.Namespace {
		return ""
	}
	if n := total(s.counts); n > 0 {
		return fmt.Sprintf("it has %s, finished tasks included: cancel the others, and wait until their retention ends", wording.Count(n, "task"))
	}
	for _, k := range kept {
		if k.Namespace == s.Name {
			return fmt.Sprintf("it has the %s, which is in the files or does not belong to this owner: delete it first", k.Key)
		}
	}
	for key := range p.objects { // also an object that this run creates
		if key.Namespace == s.Name {
			return fmt.Sprintf("the %s is in the files: add the namespace to the files, or remove the %[1]s", key)
		}
	}
	return ""
}

func total(c client.Counts) int64 {
	return c.Scheduled + c.Running + c.Delivered + c.Cancelled + c.Expired + c.Dead
}
