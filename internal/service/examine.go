package service

import (
	"context"

	"github.com/foliot/foliot/internal/wire"
)

// examine returns the function that examines the store, and the TLS files if
// there are any. It returns nil if there is neither.
func (s *Service) examine() func(context.Context) []wire.Finding {
	store := s.Examine()
	if store == nil && s.cfg.Certificate == nil {
		return nil
	}
	return func(ctx context.Context) (all []wire.Finding) {
		if store != nil {
			all = store(ctx)
		}
		if s.cfg.Certificate != nil && s.cfg.Certificate().Broken {
			all = append(all, wire.Finding{
				Check: "tls-files",
				Says:  "the TLS files have changed and cannot be used: the previous certificate stays in use; the log names the file and the reason",
			})
		}
		return all
	}
}
