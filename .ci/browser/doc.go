// Package browser drives the lab in headless Chromium. It is a module of its own, so that
// nobody who only runs `go test ./...` needs a browser's driver: CI runs it with
// `go test -C .ci/browser`. Without Chromium it skips itself. Times are printed, never
// asserted.
package browser
