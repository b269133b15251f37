package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
)

// cursorField is what every page has.
type cursorField struct {
	NextCursor string `json:"next_cursor"`
}

// pages returns the items of all pages of a list. open takes a page P apart: its items, and the cursor of the next.
func pages[P, T any](ctx context.Context, cn *conn, op, path string, query url.Values, open func(*P) ([]*T, string)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		query := maps.Clone(query)
		query.Set("limit", "1000")
		for {
			page := new(P)
			if _, err := cn.do(ctx, &call{op: op, method: http.MethodGet, path: path, query: query, repeatable: true, into: page}); err != nil {
				yield(nil, err)
				return
			}
			items, next := open(page)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			query.Set("cursor", next)
		}
	}
}
