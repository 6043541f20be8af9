// Package picture makes the panels of what follows tokens: through the updates of a
// training step, and through the routers of two engines. Recordings and live figures
// have the same panels.
//
// What it is not: it measures nothing. Package record has what it draws.
package picture
