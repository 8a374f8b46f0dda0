// Programs in Go, with its standard library.

import { literal, stringLiteral } from "./literals.ts"
import type { Request, Shape } from "./request.ts"

const text = (value: string): string => stringLiteral(value, "go")

const program = (imports: readonly string[], main: string): string => String.raw`package main

import (
${imports.map((name) => `\t"${name}"`).join("\n")}
)

func main() {
${main}}
`

const sending = (request: Request): string => String.raw`	body, err := json.Marshal(${literal(request.body, "go", 1, 26)})
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("POST", ${text(request.url)}, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("accept", ${text(request.accept)})
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		var problem struct{ Code, Reason, Detail string }
		json.NewDecoder(reply.Body).Decode(&problem)
		log.Fatalf("%s %s: %s", problem.Code, problem.Reason, problem.Detail)
	}
`

const EVENT = `struct{ Type, Text, Code, Reason, Message string }`

const cases = (indent: string): string =>
  String.raw`switch event.Type {
case "text":
	fmt.Print(event.Text)
case "error":
	log.Fatalf("%s %s: %s", event.Code, event.Reason, event.Message)
case "finished":
	return
}`.replaceAll(/^/gm, indent)

const NDJSON = String.raw`	for lines := json.NewDecoder(reply.Body); ; { // passes over heartbeats, which are empty lines
		var event ${EVENT}
		if err := lines.Decode(&event); err != nil {
			log.Fatal("the stream was cut: ", err)
		}
${cases("\t\t")}
	}
`

const SSE = String.raw`	kind := ""
	for lines := bufio.NewReader(reply.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			log.Fatal("the stream was cut: ", err)
		}
		if strings.HasPrefix(line, "event: ") {
			kind = strings.TrimSpace(line[7:])
		} else if strings.HasPrefix(line, "data: ") {
			event := ${EVENT}{Type: kind}
			if err := json.Unmarshal([]byte(line[6:]), &event); err != nil {
				log.Fatal(err)
			}
${cases("\t\t\t")}
		}
	}
`

const TEXT = String.raw`	if _, err := io.Copy(os.Stdout, reply.Body); err != nil {
		log.Fatal("the answer was cut: ", err)
	}
`

const ARTICLE = String.raw`	kind, data := "", []string{}
	for lines := bufio.NewReader(reply.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			log.Fatal("the stream was cut: ", err)
		}
		switch {
		case strings.HasPrefix(line, "event: "):
			kind = strings.TrimSpace(line[7:])
		case strings.HasPrefix(line, "data: "):
			data = append(data, line[6:len(line)-1])
		case line == "\n" && kind == "end":
			return
		case line == "\n" && kind == "error":
			log.Fatal(data)
		case line == "\n":
			fmt.Print(strings.Join(data, "\n"))
			data = nil
		}
	}
`

const connect = (request: Request): string => program(
  ["bytes", "encoding/binary", "encoding/json", "fmt", "io", "log", "net/http"],
  String.raw`	run := ${literal(request.body, "go", 1, 7)}
	input, err := json.Marshal(${literal(request.input, "go", 1, 27)})
	if err != nil {
		log.Fatal(err)
	}
	run["inputJson"] = string(input)
	message, err := json.Marshal(run)
	if err != nil {
		log.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) // flags and length stand before each message
	url := ${text(`${request.url}/deltawire.v1.Functions/Stream`)}
	reply, err := http.Post(url, "application/connect+json", bytes.NewReader(append(head, message...)))
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	for {
		if _, err := io.ReadFull(reply.Body, head); err != nil {
			log.Fatal("the stream was cut: ", err)
		}
		message := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(reply.Body, message); err != nil {
			log.Fatal("the stream was cut: ", err)
		}
		var event struct {
			Text  string
			Error *struct{ Code, Message string }
		}
		if err := json.Unmarshal(message, &event); err != nil {
			log.Fatal(err)
		}
		if event.Error != nil {
			log.Fatalf("%s: %s", event.Error.Code, event.Error.Message)
		}
		if head[0] == 2 {
			return
		}
		fmt.Print(event.Text)
	}
`,
)

const BUFFERED = ["bufio", "bytes", "encoding/json", "fmt", "log", "net/http", "strings"]

export const go: Partial<Record<Shape, (request: Request) => string>> = {
  sse: (request) => program(BUFFERED, sending(request) + SSE),
  ndjson: (request) => program(["bytes", "encoding/json", "fmt", "log", "net/http"], sending(request) + NDJSON),
  text: (request) => program(["bytes", "encoding/json", "io", "log", "net/http", "os"], sending(request) + TEXT),
  article: (request) => program(BUFFERED, sending(request) + ARTICLE),
  connect,
}
