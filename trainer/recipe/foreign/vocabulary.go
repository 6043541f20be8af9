package foreign

import (
	"maps"
	"slices"
	"strings"
)

// vocabulary is what the values of a framework's key mean in a recipe: its names of losses, of advantages and so on,
// each with the name here.
type vocabulary struct {
	kind  string
	names map[string]string
}

// vocabularies are those of each framework, by its name. A reader translates by no others.
var vocabularies = map[string][]vocabulary{
	verl.name:         {verlLosses, verlAdvantages, penalties},
	skyrl.name:        {skyrlLosses, skyrlAdvantages, skyrlReductions, penalties},
	trl.name:          {trlWords},
	slime.name:        {slimeEstimators, penalties},
	nemo.name:         {nemoAdvantages, penalties},
	areal.name:        {penalties},
	openrlhf.name:     {openrlhfLosses, openrlhfAdvantages, penalties},
	roll.name:         {rollLosses, rollAdvantages, rollAggregations, penalties},
	prime.name:        {{"loss", map[string]string{"default": "prime_dppo"}}},
	openInstruct.name: {openInstructLosses, openInstructPenalties, openInstructScales},
	swift.name:        {trlWords, swiftAdvantages},
	rllm.name:         {verlLosses, verlAdvantages, penalties},
	torchtitan.name:   {{"loss", map[string]string{"grpo": "ppo_clip", "dapo": "ppo_clip"}}},
	tinker.name:       {{"loss", map[string]string{"importance_sampling": "importance_sampling", "ppo": "ppo_clip", "cispo": "cispo", "dro": "dro"}}},
}

// trlWords are TRL's losses without how each aggregates.
var trlWords = func() vocabulary {
	v := vocabulary{"loss", map[string]string{}}
	for name, own := range trlLosses { // another map, in any order
		v.names[name] = own[0]
	}
	return v
}()

// Word is a name of a framework and the name here.
type Word struct {
	Kind   string `json:"kind"`
	Theirs string `json:"theirs"`
	Ours   string `json:"ours"`
}

// Key is a key of a framework's configuration: the field of a recipe that it sets, or why it sets none.
type Key struct {
	Key   string `json:"key"`
	Field string `json:"field,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Frameworks lists the frameworks whose configurations are read.
func Frameworks() []string { return names() }

// Words lists the names of a framework's losses, advantages, penalties and aggregations, by kind.
func Words(name string) []Word {
	var list []Word
	for _, v := range vocabularies[name] {
		for _, word := range slices.Sorted(maps.Keys(v.names)) {
			list = append(list, Word{v.kind, word, v.names[word]})
		}
	}
	return list
}

// Keys lists the keys of a framework's configuration: those of its correction, and all others.
func Keys(name string) []Key {
	var list []Key
	at := slices.IndexFunc(frameworks, func(f *framework) bool { return f.name == name })
	if at < 0 {
		return nil
	}
	f := frameworks[at]
	for _, key := range f.correctionKeys() {
		list = append(list, Key{Key: key, Field: "correction"})
	}
	if f.table == nil {
		return list
	}
	for _, e := range f.table.order {
		list = append(list, e.row(""))
	}
	for _, e := range f.table.prefixes {
		list = append(list, e.row("*"))
	}
	slices.SortFunc(list, func(a, b Key) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// row is a line of a table as a reader has it.
func (e *entry) row(end string) Key {
	return Key{Key: e.key + end, Field: e.field, Why: reasons[e.reason].why}
}
