package record

import (
	"archive/zip"
	"io"
	"maps"
	"path"
	"slices"
)

// WriteArchive writes the folder of a finished run as a zip archive: what the runner
// leaves on a disk, where there is none. lines is its metrics.jsonl, checkpoint the files
// of its final weights. Equal runs give equal bytes.
func WriteArchive(w io.Writer, r *Record, lines []byte, checkpoint map[string][]byte) error {
	summary, err := jsonLine(r.Summary)
	if err != nil {
		return err
	}
	var clock []byte
	if r.Clock != nil {
		if clock, err = jsonLine(r.Clock); err != nil {
			return err
		}
	}
	files := map[string][]byte{RecipeFile: r.Recipe, MetricsFile: lines, SummaryFile: summary,
		doneFile: seal(sumOf(r.Recipe), sumOf(lines), sumOf(summary), clock)}
	if clock != nil {
		files[ClockFile] = clock
	}
	for name, data := range checkpoint {
		files[path.Join(CheckpointFolder, name)] = data
	}
	z := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}
