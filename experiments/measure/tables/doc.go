// Package tables shows what package measure found, and a schedule's figures, as tables and figures for terminal, page and file.
//
// What it is not: it measures nothing.
package tables
