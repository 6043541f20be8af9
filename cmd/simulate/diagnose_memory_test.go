//go:build unix

package main

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"driftlab/precision/must"
)

// ceiling is the most memory that diagnose takes of any input, in MB.
const ceiling = 512

// Whatever a file holds, diagnose takes no more memory than it says, and ends with the exit status of bad input or, where a row
// was complete, with a report. Without -exhaustive a file of each kind.
func TestDiagnoseMemory(t *testing.T) {
	row := `{"logp_rollout":[-1.5,-2],"logp_old":[-1.4,-2.1],"token_ids":[1,2]}` + "\n"
	tinker := `{"kind":"sample","scope":{},"num_samples":1,"samples":[`
	numbers := func(n int) string { return strings.Repeat("-1.25,", n) + "-1" }
	for _, c := range []struct {
		name, want string
		status     int
		pieces     []string // each repeated as often as repeat says
		repeat     []int
	}{
		{"zeros.gz", "no complete row", 2, []string{strings.Repeat("\x00", 1<<20)}, []int{200}},
		{"text.gz", "no complete row", 2, []string{`{"`, strings.Repeat("a", 1<<20)}, []int{1, 200}},
		{"keys.jsonl", "no complete row", 2, []string{"{", strings.Repeat(`"key":0,`, 1<<17)}, []int{1, 250}},
		{"pickle.gz", "unpack it first", 2, []string{"\x80\x04](", strings.Repeat("K\x01", 1<<19)}, []int{1, 200}},
		{"memo.pkl", "its values take more", 2, []string{"\x80\x04]\x94(", strings.Repeat("h\x00", 1<<19)}, []int{1, 30}},
		{"numbers.pkl", "its values take more", 2, []string{"\x80\x04](", strings.Repeat("J\x00\x00\x01\x00", 1<<18)}, []int{1, 60}},
		{"wide.jsonl", "response of more than", 0, []string{row, `{"logp_rollout":[`, numbers(1<<20) + ",", `-1],"logp_old":[`, numbers(1<<20) + ",", "-1]}\n"}, []int{1, 1, 3, 1, 3, 1}},
		{"long.jsonl", "too few to judge", 0, []string{row, `{"logp_rollout":[` + numbers(1<<20) + `],"logp_old":[` + numbers(1<<20) + `],"logp_new":[` + numbers(1<<20) + "]}\n"}, []int{1, 3}},
		{"samples.jsonl", "samples: a row of more than", 0, []string{tinker + "{}]}\n", tinker, strings.Repeat("{},", 1<<20)}, []int{1, 1, 9}},
		{"batch.bin", "loss_mask: byte 16777223: no list where one belongs", 2, []string{"\x91\x99\xdd\x00\xff\xff\xff", strings.Repeat("\x01", 1<<20)}, []int{1, 17}},
	} {
		if !*exhaustive && !slices.Contains([]string{"zeros.gz", "memo.pkl", "wide.jsonl", "batch.bin"}, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			f := must.Get(os.Create(path))(t)
			to := io.WriteCloser(f)
			if strings.HasSuffix(c.name, ".gz") {
				to = gzip.NewWriter(f)
			}
			for i, piece := range c.pieces {
				for range c.repeat[i] {
					must.Get(io.WriteString(to, piece))(t)
				}
			}
			if err := errors.Join(to.Close(), f.Sync()); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Fatal(err)
			}
			cmd := exec.Command("simulate", "diagnose", path)
			out, err := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.status {
				t.Errorf("exit status %d, want %d: %v", got, c.status, err)
			}
			if !strings.Contains(string(out), c.want) {
				t.Errorf("%q is not in what it says:\n%.2000s", c.want, out)
			}
			if most := maxrss(cmd.ProcessState) >> 20; most > ceiling {
				t.Errorf("it took %d MB, above %d", most, ceiling)
			}
		})
	}
}

// maxrss is the largest resident set that a process has had, in bytes. It begins with that of the process that started it: the
// files are written piece by piece.
func maxrss(s *os.ProcessState) int64 {
	most := s.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "darwin" {
		return most
	}
	return most << 10
}
