// Package doctor examines servers, data directories and Redis, and checks
// whether tasks may call a URL.
package doctor
