package kernel

import "github.com/foliot/foliot/internal/settings"

// Configure makes edits one after the other: see store.SettingsStore. confirm is called with
// those that were accepted, and returns the nodes that have not applied them.
func Configure(edits []settings.Edit, edit func(settings.Edit) (settings.EditReply, error), confirm func([]settings.Edit) ([]string, error)) ([]settings.EditReply, error) {
	replies := make([]settings.EditReply, len(edits))
	var accepted []settings.Edit
	for i, e := range edits {
		var err error
		if replies[i], err = edit(e); err != nil {
			return nil, err
		}
		if replies[i].Err == nil {
			accepted = append(accepted, e)
		}
	}
	left, err := confirm(accepted)
	for i := range replies {
		if replies[i].Err == nil {
			replies[i].Unconfirmed = left
		}
	}
	return replies, err
}
