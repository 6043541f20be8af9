// Package picture makes the figures of what follows tokens: through the updates of a
// training step, and through the routers of two engines. Recordings and live runs
// have the same figures.
//
// What it is not: it measures nothing. Package record has what it draws.
package picture
