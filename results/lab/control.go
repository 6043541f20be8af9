package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Choose returns the values of the lesson's controls: those given as KEY=VALUE, else the lesson's own.
func (l *Lesson) Choose(given []string) (map[string]string, error) {
	out := map[string]string{}
	var keys []string
	for _, k := range l.Controls {
		out[k.Key], keys = k.Value, append(keys, k.Key)
	}
	for _, with := range given {
		key, value, _ := strings.Cut(with, "=")
		i := slices.Index(keys, key)
		if i < 0 {
			return nil, fmt.Errorf("%s: the lesson %s has the controls %s", with, l.Name, strings.Join(keys, ", "))
		}
		var values []string
		for _, o := range l.Controls[i].Options {
			values = append(values, o.Value)
		}
		if !slices.Contains(values, value) {
			return nil, fmt.Errorf("%s: %s is one of %s", with, key, strings.Join(values, ", "))
		}
		out[key] = value
	}
	return out, nil
}

// Assignments are those of the live run with the controls' values set in; a pair of engines stands for
// rollout and learner.
func (l *Lesson) Assignments(chosen map[string]string) []string {
	values := maps.Clone(chosen)
	if rollout, learner, ok := strings.Cut(chosen["pair"], "/"); ok {
		values["rollout"], values["learner"] = rollout, learner
	}
	var out []string
	for _, s := range l.Live.Set {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			s = strings.ReplaceAll(s, "{"+key+"}", values[key])
		}
		out = append(out, s)
	}
	return out
}
