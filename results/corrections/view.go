package corrections

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"driftlab/results"
	"driftlab/results/figure"
)

var (
	//go:embed corrections.html
	markup string
	//go:embed corrections.css
	style string
	//go:embed corrections.js
	script string
	//go:embed start.js
	start string
)

// title is the question that the page answers.
const title = "Which correction?"

// lead is the page's first paragraph.
const lead = "Training-inference mismatch or stale rollouts: which importance-sampling weight, mask, loss or guard to switch on, with its measured effect and what it harms."

// report is the page by itself.
func (p *Page) report() results.Report {
	part := p.Part()
	part.Script += start
	return results.Report{Eyebrow: "published effects", Title: title, Lead: lead, Sections: []results.Section{{Heading: "Your problem", Blocks: []results.Block{part}}}}
}

// HTML is the page as one file.
func (p *Page) HTML() []byte {
	r := p.report()
	return r.HTML()
}

// Part is the page's content, for a page that has other things too. Its script stands on the
// shared one, and defines corrections, which that page is to call as start.js does.
func (p *Page) Part() results.Part {
	v := p.view()
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		panic("corrections: " + err.Error()) // writing to memory cannot fail, and the view has the fields
	}
	return results.Part{HTML: template.HTML(out.String()), Style: style, Script: script}
}

// page is the page without what stands in it.
var page = template.Must(template.New("").Funcs(template.FuncMap{"signed": signed, "hundredths": hundredths, "listed": listed}).Parse(markup))

// signed is a difference of pass rates, hundredths a distance.
func signed(v float64) string     { return fmt.Sprintf("%+.2f", v) }
func hundredths(v float64) string { return fmt.Sprintf("%.2f", v) }

// listed joins words as a sentence does.
func listed(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// view is the page as its template needs it.
type view struct {
	*Page
	Tables               []table
	Families, Frameworks []string
	Ticks                []tick
	Zero                 float64
	Distinct             int
	Data                 template.JS
	low, high            float64
}

// table is a problem with its answer and its rows.
type table struct {
	// Key names it in the address; Regret: it ranks by mean regret over all problems.
	Key    string
	Regret bool
	Problem
	Answer        *answer
	Better, Worse int // distinct settings with a significant effect
	Rows          []row
}

// answer is the recommended setting of a table.
type answer struct {
	row
	Setting *Setting
	// Harms are the other problems under which the setting is significantly worse.
	Harms []harm
	// Uncorrected is the mean regret of no correction.
	Uncorrected float64
}

// harm is a significantly negative effect.
type harm struct {
	Problem
	Effect
}

// row is a setting in a table.
type row struct {
	*Setting
	Place            int // of the setting
	Effect           Effect
	Figure, Interval string
	// Mark is an arrow for a significant effect, = for a setting that cannot act; Class colours
	// it, and Spoken says it.
	Mark, Class, Spoken string
	Last                string // p, or under how many problems it is significantly worse
	Drawn               drawn
}

// drawn is an interval as it is drawn, from 0 to 200.
type drawn struct{ Low, At, High float64 }

// tick is a mark of the axis.
type tick struct {
	At   float64
	Text string
}

// view fills the tables.
func (p *Page) view() *view {
	v := &view{Page: p}
	for i := range p.Settings {
		s := &p.Settings[i]
		if s.SameAs == "" && !s.Control {
			v.Distinct++
		}
		if !slices.Contains(v.Families, s.Group) {
			v.Families = append(v.Families, s.Group)
		}
		for _, f := range s.Frameworks {
			if f.Text != "" && !slices.Contains(v.Frameworks, f.Framework) {
				v.Frameworks = append(v.Frameworks, f.Framework)
			}
		}
		for _, e := range append(slices.Clone(s.Effects), regret(s)) {
			v.low, v.high = min(v.low, e.Low), max(v.high, e.High)
		}
	}
	slices.Sort(v.Families)
	slices.Sort(v.Frameworks)
	const step = 0.25
	v.low, v.high = math.Floor(v.low/step)*step, math.Ceil(v.high/step)*step
	for _, x := range []float64{-0.5, 0, 0.5} {
		if x >= v.low && x <= v.high {
			v.Ticks = append(v.Ticks, tick{v.at(x), fmt.Sprint(x)})
		}
	}
	v.Zero = v.at(0)
	for j := range p.Problems {
		v.Tables = append(v.Tables, v.table(j))
	}
	v.Tables = append(v.Tables, v.regrets())
	v.Data = v.data()
	return v
}

// regret is the mean regret as an effect.
func regret(s *Setting) Effect {
	return Effect{Estimate: s.Regret.Estimate, Low: s.Regret.Low, High: s.Regret.High, P: math.NaN()}
}

// at is the place of a value on the axis.
func (v *view) at(x float64) float64 {
	return math.Round((x-v.low)/(v.high-v.low)*2000) / 10
}

// table ranks the settings by their effect under a problem.
func (v *view) table(j int) table {
	t := table{Key: v.Problems[j].Name, Problem: v.Problems[j]}
	for i := range v.Settings {
		s := &v.Settings[i]
		e := s.Effects[j]
		r := row{Setting: s, Place: i, Effect: e, Figure: signed(e.Estimate), Interval: signed(e.Low) + " to " + signed(e.High), Drawn: drawn{v.at(e.Low), v.at(e.Estimate), v.at(e.High)}}
		if !math.IsNaN(e.P) {
			r.Last = figure.Number(e.P, 2).Text
		}
		switch {
		case s.Control:
			r.Interval, r.Class, r.Spoken = "reference", "muted", "no correction"
		case e.Inactive:
			r.Interval, r.Mark, r.Class, r.Spoken = "cannot act", "=", "muted", "cannot act"
		case e.Sign > 0:
			r.Mark, r.Class, r.Spoken = "↑", "good", "significantly better"
		case e.Sign < 0:
			r.Mark, r.Class, r.Spoken = "↓", "bad", "significantly worse"
		default:
			r.Spoken = "not significant"
		}
		if s.SameAs == "" && e.Sign > 0 {
			t.Better++
		} else if s.SameAs == "" && e.Sign < 0 {
			t.Worse++
		}
		t.Rows = append(t.Rows, r)
	}
	slices.SortStableFunc(t.Rows, func(a, b row) int { return cmp.Compare(b.Effect.Estimate, a.Effect.Estimate) })
	if t.Recommended >= 0 {
		i := slices.IndexFunc(t.Rows, func(r row) bool { return r.Place == t.Recommended })
		t.Answer = &answer{row: t.Rows[i], Setting: t.Rows[i].Setting, Harms: v.harms(t.Rows[i].Setting)}
	}
	return t
}

// regrets ranks the settings by their mean regret over all problems.
func (v *view) regrets() table {
	t := table{Key: "any", Regret: true, Problem: Problem{Name: "any", Text: "Not known, or several of these", Recommended: -1}}
	uncorrected := 0.0
	for i := range v.Settings {
		s := &v.Settings[i]
		e := regret(s)
		r := row{Setting: s, Place: i, Effect: e, Figure: hundredths(e.Estimate), Interval: hundredths(e.Low) + " to " + hundredths(e.High), Drawn: drawn{v.at(e.Low), v.at(e.Estimate), v.at(e.High)},
			Last: fmt.Sprint(len(v.harms(s)))}
		if s.Control {
			uncorrected = e.Estimate
		}
		t.Rows = append(t.Rows, r)
	}
	if len(t.Rows) > 0 && !t.Rows[0].Setting.Control {
		t.Answer = &answer{row: t.Rows[0], Setting: t.Rows[0].Setting, Harms: v.harms(t.Rows[0].Setting), Uncorrected: uncorrected}
	}
	return t
}

// harms are the problems under which a setting is significantly worse than no correction.
func (v *view) harms(s *Setting) (list []harm) {
	for j, e := range s.Effects {
		if e.Sign < 0 {
			list = append(list, harm{v.Problems[j], e})
		}
	}
	return list
}

// data are the figures that the script sorts and filters by, as JSON: for each setting its
// name, group and frameworks, whether it is distinct, its mean regret with the interval, and
// for each problem the effect, the ends of its interval, p (null where nothing differs), and 1
// or -1 where it is significant.
func (v *view) data() template.JS {
	type setting struct {
		Name       string        `json:"name"`
		Family     string        `json:"family"`
		Frameworks []string      `json:"frameworks"`
		SameAs     string        `json:"same_as,omitempty"`
		Inactive   []int         `json:"inactive"`
		Regret     [4]float64    `json:"regret"` // and under how many problems it is worse
		Effects    [][5]*float64 `json:"effects"`
	}
	doc := struct {
		Problems []string  `json:"problems"`
		Settings []setting `json:"settings"`
	}{[]string{}, []setting{}}
	for _, p := range v.Problems {
		doc.Problems = append(doc.Problems, p.Name)
	}
	for i := range v.Settings {
		s := &v.Settings[i]
		own := setting{Name: s.Name, Family: s.Group, Frameworks: []string{}, SameAs: s.SameAs, Inactive: []int{}, Regret: [4]float64{s.Regret.Estimate, s.Regret.Low, s.Regret.High, float64(len(v.harms(s)))}}
		for _, f := range s.Frameworks {
			if f.Text != "" {
				own.Frameworks = append(own.Frameworks, f.Framework)
			}
		}
		for j, e := range s.Effects {
			sign := float64(e.Sign)
			figures := [5]*float64{&e.Estimate, &e.Low, &e.High, &e.P, &sign}
			if math.IsNaN(e.P) {
				figures[3] = nil
			}
			if e.Inactive {
				own.Inactive = append(own.Inactive, j)
			}
			own.Effects = append(own.Effects, figures)
		}
		doc.Settings = append(doc.Settings, own)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic("corrections: " + err.Error()) // figures are finite
	}
	return template.JS(text)
}
