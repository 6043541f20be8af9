package main

import (
	_ "embed" // of the pages
	"strings"
	"sync"
	"text/template"

	"driftlab/results/figure"
	"driftlab/trainer/method/trace"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

//go:embed texts.tmpl
var textTemplates string

//go:embed heads.yaml
var headsText []byte

// tableHead is a table of a command without its rows.
var tableHead = figure.Heads(headsText)

// texts are the pages about names, as text.
var texts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"section": section, "indent": indented, "join": strings.Join, "trim": strings.TrimSpace, "policies": rollOrLogp.MatchString,
		"bound": boundText, "citing": methodsCiting, "description": recipe.Description, "claims": claimsOn, "effects": effectsOf, "measured": measuredEffects, "setting": settingOf, "recipe": foreign.RecipeLine,
		"flat":       func(text string) string { return strings.ReplaceAll(text, "\n", "; ") },
		"notWritten": func() string { return foreign.NotWritten },
		"next":       func(i int) int { return i + 1 },
		"number":     func(x float64) string { return trace.Number(x).String() },
	}).Parse(textTemplates))
})

// section is a text below its title; nothing of an empty text.
func section(title, text string) string {
	if text == "" {
		return ""
	}
	return "\n" + title + "\n" + indented(strings.TrimRight(text, "\n")) + "\n"
}

// textOf is a page, filled with data.
func textOf(page string, data any) string {
	var b strings.Builder
	if err := texts().ExecuteTemplate(&b, page, data); err != nil {
		panic("texts.tmpl: " + err.Error()) // the data has the fields
	}
	return b.String()
}
