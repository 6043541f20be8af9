package lab

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// document is what TestDocument made of lessons/ and results/published.
//
//go:embed lab.json
var document []byte

//go:generate go test -run ^TestDocument$ -update

// publishedFile is lab.json, as the page loads it.
func publishedFile() []byte { return document }

// Load reads the lessons that the program was released with.
var Load = sync.OnceValue(func() *Document {
	var d Document
	if err := json.Unmarshal(document, &d); err != nil {
		panic(fmt.Sprint("lab.json: ", err)) // TestDocument makes it
	}
	return &d
})

// Lesson is the one of that name, nil for none.
func (d *Document) Lesson(name string) *Lesson {
	for i := range d.Lessons {
		if d.Lessons[i].Name == name {
			return &d.Lessons[i]
		}
	}
	return nil
}
