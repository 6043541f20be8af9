// Package browser drives the lab in headless Chromium. It is a module of its own, so that
// `go test ./...` alone needs no browser's driver: CI runs it with
// `go test -C .ci/browser`. Without Chromium it skips itself. Times are printed, never
// asserted.
package browser
