// Package doctor examines servers, data directories and Redis, and judges whether
// tasks may call a URL.
package doctor
