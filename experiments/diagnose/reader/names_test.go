package reader_test

import (
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// The names that trainers use mean the same as those of the neutral format, also in verl's own file.
func TestNamesOfTrainers(t *testing.T) {
	for _, c := range []struct{ name, text, format string }{
		{"neutral", `{"prompt_ids":[5],"token_ids":[7,8],"logp_rollout":[-1,-2],"logp_old":[-1.5,-2.5],"mask":[0,1],"advantage":[3,3],"reward":1,"step":4}`, "neutral"},
		{"verl's tensors", `{"prompt_token_ids":[5],"response_ids":[7,8],"rollout_log_probs":[-1,-2],"old_log_probs":[-1.5,-2.5],"response_mask":[0,1],"advantages":[3,3],"score":1,"global_step":4}`, "neutral"},
		{"verl's file", `{"input":"p","output":"r","gts":"g","score":1,"step":4,"prompt_ids":[5],"responses":"x","response_ids":[7,8],"rollout_log_probs":[-1,-2],"old_log_probs":[-1.5,-2.5],"response_mask":[0,1],"advantages":3}`, "verl"},
		{"whole sequences", `{"train_token_ids":[5,7,8],"response_logprobs":[-1,-2],"old_logprobs":[-1.5,-2.5],"loss_mask":[false,true],"advantage":3,"reward":1,"step":4}`, "neutral"},
		{"two engines", `{"train_token_ids":[5,7,8],"rollout_logprobs":[-1,-2],"response_logprobs":[-1.5,-2.5],"loss_mask":[false,true],"advantage":3,"reward":1,"step":4}`, "neutral"},
		{"the preferred name", `{"loss_mask":[1,1],"mask":[0,1],"response_mask":null,"token_ids":[7,8],"prompt_ids":[5],"logp_rollout":[-1,-2],"logp_old":[-1.5,-2.5],"advantage":3,"reward":1,"step":4}`, "neutral"},
	} {
		// A row of its own before it: nothing of one is left in the next.
		rows, about, err := readText(strings.Replace(c.text, "[7,8]", "[70,80]", 1)+"\n"+c.text, "")
		if err != nil || len(rows) != 2 || about.Damaged != 0 || about.Format != c.format {
			t.Fatalf("%s: %d rows, %+v, %v", c.name, len(rows), about, err)
		}
		r := rows[1]
		if !same(r.Roll, []float64{-1, -2}) || !same(r.Old, []float64{-1.5, -2.5}) || !same(r.Advantage, []float64{3, 3}) || !slices.Equal(r.Mask, []bool{false, true}) ||
			r.Reward != 1 || r.Step != 4 {
			t.Errorf("%s: %+v", c.name, r)
		}
		if wantText := c.format == "verl"; wantText != (r.Text == "r") || wantText != (r.PromptText == "p") {
			t.Errorf("%s: text %q of %q", c.name, r.Text, r.PromptText)
		}
		if noted := len(about.Notes) == 1 && strings.Contains(about.Notes[0], "response_logprobs in addition to rollout_logprobs"); noted != (c.name == "two engines") {
			t.Errorf("%s: notes %q", c.name, about.Notes)
		}
	}
}

// Tokens and prompts of whole sequences are split, in memory of their own.
func TestWholeSequences(t *testing.T) {
	var got [][]int32
	text := `{"train_token_ids":[5,6,7,8],"rollout_log_probs":[-1,-2]}` + "\n" + `{"train_token_ids":[9,7],"prompt_ids":[1,2,3],"rollout_log_probs":[-1,-2]}`
	_, err := reader.Read(reader.Input{Stream: strings.NewReader(text)}, "", func(r *reader.Row) error {
		got = append(got, slices.Clone(r.Prompt), slices.Clone(r.Token))
		return nil
	})
	if want := [][]int32{{5, 6}, {7, 8}, {1, 2, 3}, {9, 7}}; err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v; %v", got, want, err)
	}
}

// A fault is named by the key that the file has.
func TestFaultsNameTheKeyOfTheFile(t *testing.T) {
	for line, want := range map[string]string{
		`{"rollout_log_probs":[-1],"old_log_probs":[-1,-2]}`:    "rollout_log_probs has 1 entries for 2 tokens",
		`{"rollout_log_probs":[-1],"response_mask":[1,1]}`:      "response_mask has 2 entries for 1 tokens",
		`{"rollout_log_probs":["x"]}`:                           `rollout_log_probs: the text "x" where a number belongs`,
		`{"rollout_log_probs":[-1,-2],"advantages":[0.5]}`:      "advantages has 1 entries for 2 tokens",
		`{"rollout_log_probs":[-1],"train_token_ids":[2,-1.5]}`: "train_token_ids: entry 1 is -1.5, and no whole number",
	} {
		_, about, err := readText(plain+"\n"+line+"\n", "")
		if err != nil || about.Damaged != 1 || about.Damage[0].Reason != want {
			t.Errorf("%s: %+v, %v, want %q", line, about.Damage, err, want)
		}
	}
}

// A file may be one array of its rows, on one line or on many.
func TestArray(t *testing.T) {
	second := `{"logp_rollout":[-3],"logp_old":[-4],"advantage":2}`
	pretty := strings.NewReplacer("{", "{\n  ", ",", ",\n  ", "}", "\n}").Replace
	for _, c := range []struct {
		name, text  string
		rows        int
		line        int
		damage      string
		damagedLine int
	}{
		{"one line", "[" + plain + "," + second + "]", 2, 1, "", 0},
		{"indented", "\n[\n" + pretty(plain) + ",\n" + pretty(second) + "\n]\n", 2, 9, "", 0},
		{"a line each", "[\n" + plain + ",\n" + second + "\n]", 2, 3, "", 0},
		{"cut between rows", "[" + plain + ",\n" + second, 2, 2, "the row is cut: the file ends inside it", 2},
		{"cut in a row", "[" + plain + ",\n" + second[:18], 1, 1, "logp_rollout: the row is cut: the file ends inside it", 2},
		{"not between", "[" + plain + second + "]", 1, 1, `'{' between two rows of a list`, 1},
		{"behind", "[" + plain + "]\n" + second, 1, 1, `'{' behind the list of rows`, 2},
		{"cut behind a comma", "[" + plain + ",\n", 1, 1, "the row is cut: the file ends inside it", 2},
		{"a foreign row", "[" + plain + ",{}," + second + "]", 2, 1, "an object without any of the keys of neutral", 1},
		{"empty", "[ ]", 0, 0, "the list of rows is empty", 1},
		{"nothing but the bracket", "[", 0, 0, "the row is cut: the file ends inside it", 1},
	} {
		rows, about, err := readText(c.text, "")
		if err != nil || len(rows) != c.rows || len(rows) > 0 && rows[len(rows)-1].Line != c.line {
			t.Errorf("%s: %d rows, %+v, %v", c.name, len(rows), about, err)
		}
		if c.damage == "" && about.Damaged != 0 || c.damage != "" && (about.Damaged != 1 || about.Damage[0].Reason != c.damage || about.Damage[0].Line != c.damagedLine) {
			t.Errorf("%s: %+v, want %q in line %d", c.name, about.Damage, c.damage, c.damagedLine)
		}
	}
}

// A response of a dump of this program comes once.
func TestResponsesOfOwnDumpsComeOnce(t *testing.T) {
	row := `{"run":"a","step":1,"sample":%,"logp_rollout":[-1],"logp_old":[-1]}` + "\n"
	first, second := strings.Replace(row, "%", "0", 1), strings.Replace(row, "%", "1", 1)
	_, about, err := readText(first+second+first+second, "")
	if err != nil || about.Damaged != 2 || about.Damage[0].Reason != `run "a", step 1, sample 0 comes a second time` || about.Damage[0].Line != 3 {
		t.Errorf("%+v, %v", about.Damage, err)
	}
}
