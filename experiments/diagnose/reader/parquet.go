package reader

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// readParquet reads TRL's completions_{step}.parquet: step, prompt, completion, a
// column for every reward function, advantage. Conversations are lists of messages,
// whose texts are put one after the other.
func (f *File) readParquet(in Input, visit func(*Row) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the library, on a file that is broken
			err = &Refused{in.Name, fmt.Sprintf("a broken Parquet file: %v", p), "write it again"}
		}
	}()
	var end [8]byte // the length of the footer, for which the library makes room before it reads, and PAR1
	if n, _ := in.At.ReadAt(end[:], in.Size-int64(len(end))); n < len(end) || int64(binary.LittleEndian.Uint32(end[:])) > in.Size {
		return &Refused{in.Name, "a broken Parquet file: its footer is cut, or longer than the file", "write it again"}
	}
	table, err := parquet.OpenFile(in.At, in.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return &Refused{in.Name, fmt.Sprintf("a broken Parquet file: %v", err), "write it again"}
	}
	var names []string
	has := map[string]bool{}
	for _, path := range table.Schema().Columns() {
		name := path[0]
		if len(path) > 1 && path[len(path)-1] != "content" {
			name = "" // a message's role
		}
		names = append(names, name)
		has[path[0]] = true
	}
	if !has["completion"] || !has["prompt"] {
		return &Refused{in.Name, fmt.Sprintf("a Parquet file with the columns %q", names), "TRL's have prompt and completion"}
	}
	f.Format = "trl"
	left := max(expandedBytes, expansion*in.Size)
	for _, group := range table.Metadata().RowGroups {
		for _, c := range group.Columns {
			if err := in.pages(&c.MetaData, &left); err != nil {
				return &Refused{in.Name, err.Error(), "write smaller row groups, or raise --max-memory"}
			}
		}
	}
	for _, group := range table.RowGroups() {
		if err := f.readGroup(group, names, &left, visit); err != nil {
			return err
		}
	}
	return nil
}

// valueBytes is what the library takes for an entry of a column, its levels and its place in a row included.
const valueBytes = 32

// pages adds up what the pages of a column chunk unpack to, by their headers: the library believes them, and what the
// footer says of the chunk is a promise. left is what all chunks may still take.
func (in Input) pages(chunk *format.ColumnMetaData, left *int64) error {
	from := chunk.DataPageOffset
	if chunk.DictionaryPageOffset != 0 {
		from = chunk.DictionaryPageOffset
	}
	if from < 0 || chunk.TotalCompressedSize < 0 || chunk.TotalCompressedSize > in.Size {
		return fmt.Errorf("a Parquet file with a column chunk of %d bytes at byte %d of %d", chunk.TotalCompressedSize, from, in.Size)
	}
	chunkLeft := in.most().chunk
	for to := from + chunk.TotalCompressedSize; from < to; {
		head := new(thrift.CompactProtocol).NewReader(bufio.NewReaderSize(io.NewSectionReader(in.At, from, to-from), 512))
		var page format.PageHeader
		if err := thrift.NewDecoder(head).Decode(&page); err != nil || page.CompressedPageSize < 0 || page.UncompressedPageSize < 0 {
			return nil // the library reads as far, and says why not further
		}
		values := max(page.DataPageHeader.V.NumValues, page.DataPageHeaderV2.V.NumValues, page.DictionaryPageHeader.V.NumValues, 1)
		need := int64(page.UncompressedPageSize) + valueBytes*int64(values)
		chunkLeft, *left = chunkLeft-need, *left-need
		if chunkLeft < 0 {
			return fmt.Errorf("a Parquet file with a column chunk that unpacks to more than %d MiB", in.most().chunk>>20)
		}
		if *left < 0 {
			return fmt.Errorf("a broken Parquet file: %w", errExpansion)
		}
		from += int64(head.BytesRead()) + int64(page.CompressedPageSize)
	}
	return nil
}

func (f *File) readGroup(group parquet.RowGroup, names []string, left *int64, visit func(*Row) error) error {
	rows := group.Rows()
	defer rows.Close()
	buffer := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buffer)
		for _, values := range buffer[:n] {
			var row Row
			row.reset()
			row.Line = f.Rows + 1
			if trlRow(&row, values, names, left); *left < 0 {
				f.damage(row.Line, 0, errExpansion.Error())
				return nil
			}
			if err := f.send(&row, visit); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || n == 0 {
			f.damage(f.Rows+1, 0, fmt.Sprintf("the rest cannot be read: %v", err))
			return nil
		}
	}
}

// trlRow fills a row with as much text as is left. Its reward is the sum of what the reward functions say.
func trlRow(row *Row, values []parquet.Value, names []string, left *int64) {
	var prompt, completion strings.Builder
	defer func() { row.PromptText, row.Text = prompt.String(), completion.String() }()
	write := func(to *strings.Builder, text []byte) {
		if *left -= int64(len(text)); *left >= 0 {
			to.Write(text)
		}
	}
	for _, v := range values {
		if v.IsNull() || v.Column() >= len(names) {
			continue
		}
		switch name := names[v.Column()]; {
		case name == "prompt" && v.Kind() == parquet.ByteArray:
			write(&prompt, v.ByteArray())
		case name == "completion" && v.Kind() == parquet.ByteArray:
			write(&completion, v.ByteArray())
		case name == "step":
			row.Step = int(v.Int64())
		case name != "" && name != "advantage" && (v.Kind() == parquet.Double || v.Kind() == parquet.Float):
			x := v.Double()
			if v.Kind() == parquet.Float {
				x = float64(v.Float())
			}
			if row.Reward != row.Reward {
				row.Reward = 0
			}
			row.Reward += x
		}
	}
}
