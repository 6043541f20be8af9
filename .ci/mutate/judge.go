package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A verdict is what became of a mutant.
type verdict string

const (
	unknown   verdict = ""
	died      verdict = "died"
	lived     verdict = "lived"
	timedOut  verdict = "timed-out"
	uncovered verdict = "uncovered" // no test reaches it
)

// limit bounds one run of the tests. Endless loops end by fuel long before.
const limit = 5 * time.Minute

// judge runs the tests once without a mutant and once with each mutant that they
// reach. Verdicts are written down as they fall.
func (s *subject) judge(keep string, workers int) ([]verdict, error) {
	file, verdicts, err := s.recall(keep)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fuel, reached, err := s.plain()
	if err != nil {
		return nil, err
	}
	var todo []int
	for i := range s.mutants {
		switch {
		case !reached[i]:
			verdicts[i] = uncovered
		case verdicts[i] == unknown:
			todo = append(todo, i)
		}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var failure error
	queue := make(chan int)
	for range workers {
		group.Go(func() {
			for i := range queue {
				v, err := s.run(i+1, fuel)
				mu.Lock()
				if verdicts[i] = v; err == nil {
					_, err = fmt.Fprintln(file, i, v)
				}
				failure = errors.Join(failure, err)
				mu.Unlock()
			}
		})
	}
	for _, i := range todo {
		queue <- i
	}
	close(queue)
	group.Wait()
	if _, _, err := s.plain(); err != nil && failure == nil {
		// Their data changed underneath: nobody knows since when mutants die of that.
		return nil, errors.Join(fmt.Errorf("run it again, and change nothing meanwhile: %w", err), os.Remove(file.Name()))
	}
	return verdicts, failure
}

// recall reads what an earlier run with the same binary has found.
func (s *subject) recall(keep string) (*os.File, []verdict, error) {
	binary, err := os.ReadFile(s.binary)
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("%s-%.16x", strings.ReplaceAll(s.dir, "/", "-"), sha256.Sum256(binary))
	file, err := os.OpenFile(filepath.Join(keep, name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	verdicts := make([]verdict, len(s.mutants))
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var i int
		var v verdict
		if n, _ := fmt.Sscan(lines.Text(), &i, &v); n == 2 && i >= 0 && i < len(verdicts) && (v == died || v == lived) {
			verdicts[i] = v
		}
	}
	return file, verdicts, nil
}

// plain runs the tests without a mutant: they have to pass. It returns the fuel
// of the runs to come and which mutants were reached.
func (s *subject) plain() (fuel int, reached []bool, err error) {
	cover := s.binary + ".cover"
	if out, err := s.command(context.Background(), "MUTANT_COVER="+cover).CombinedOutput(); err != nil {
		return 0, nil, fmt.Errorf("the tests fail without a mutant: %v\n%s", err, out)
	}
	text, err := os.ReadFile(cover)
	if err != nil {
		return 0, nil, err
	}
	reached = make([]bool, len(s.mutants))
	for k, line := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return 0, nil, err
		}
		if k == 0 {
			fuel = 20*n + 1e8
		} else {
			reached[n-1] = true
		}
	}
	return fuel, reached, nil
}

// run runs the tests with one mutant.
func (s *subject) run(id, fuel int) (verdict, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := s.command(ctx, fmt.Sprintf("MUTANT=%d", id), fmt.Sprintf("MUTANT_FUEL=%d", fuel)).Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return timedOut, nil
	case err == nil:
		return lived, nil
	case errors.As(err, &exit):
		return died, nil
	}
	return unknown, err
}

// command is one run of the tests, where they expect to be, with the same draws
// each time. Those that count allocations are left out: a switch is one more call.
func (s *subject) command(ctx context.Context, env ...string) *exec.Cmd {
	args := []string{"-test.short", "-test.failfast", "-test.skip", "Alloc", "-test.timeout", "0"}
	if s.rapid {
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), append(env, "GOMAXPROCS=1", "GOMEMLIMIT=1GiB")...)
	return cmd
}
