// Executes templates as Go and sprig do: reads one JSON object per line, {"template", "data", "missingkey", "plain"}, and answers each
// with one, {"output"} or {"error"}. A plain template has the functions of text/template alone. Numbers of the data are int64 where they
// are integers that fit, otherwise float64, as in Kubernetes; slices have no capacity beyond their length.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"text/template"
	_ "time/tzdata" // the zones are known on every host
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
)

type question struct {
	Template   string `json:"template"`
	Data       any    `json:"data"`
	MissingKey string `json:"missingkey"`
	Plain      bool   `json:"plain"`
}

type answer struct {
	Output *string `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
}

var functions = sprig.TxtFuncMap()

func main() {
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		if err := out.Encode(ask(lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func ask(line []byte) answer {
	asked := question{MissingKey: "default"}
	reader := json.NewDecoder(bytes.NewReader(line))
	reader.UseNumber()
	if err := reader.Decode(&asked); err != nil {
		return answer{Error: "question: " + err.Error()}
	}
	empty := template.New("test").Option("missingkey=" + asked.MissingKey)
	if !asked.Plain {
		empty.Funcs(functions)
	}
	parsed, err := empty.Parse(asked.Template)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var written bytes.Buffer
	if err := parsed.Execute(&written, numbered(asked.Data)); err != nil {
		return answer{Error: err.Error()}
	}
	if !utf8.Valid(written.Bytes()) {
		return answer{Error: "template: test: the output is not valid UTF-8"}
	}
	text := written.String()
	return answer{Output: &text}
}

func numbered(data any) any {
	switch data := data.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(data.String(), 10, 64); err == nil {
			return whole
		}
		float, _ := data.Float64()
		return float
	case []any:
		for i := range data {
			data[i] = numbered(data[i])
		}
		return slices.Clip(data)
	case map[string]any:
		for key := range data {
			data[key] = numbered(data[key])
		}
	}
	return data
}
