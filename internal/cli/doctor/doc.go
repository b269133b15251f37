// Package doctor examines servers, data directories and Redis, and checks
// whether tasks are allowed to call a URL.
package doctor
