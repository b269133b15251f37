// Package doctor examines servers, data directories, Redis and PostgreSQL, and checks
// whether tasks are allowed to call a URL.
package doctor
