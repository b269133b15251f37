// Package page serves the web page of a server. The page is a client of the
// public API: it can do nothing that a script cannot do. Its TypeScript is in
// src, and tools/bundle makes the files in dist from it (make page).
//
// In src, each page has a folder in pages, and several pages share parts.
package page
