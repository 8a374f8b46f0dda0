// Programs in Ruby, with its standard library.

import { literal, stringLiteral } from "./literals.ts"
import type { Request, Shape } from "./request.ts"

const text = (value: string): string => stringLiteral(value, "ruby")

const posting = (request: Request, reading: string, afterwards: string): string => String.raw`require "json"
require "net/http"

uri = URI(${text(request.url)})
headers = { "content-type" => "application/json", "accept" => ${text(request.accept)} }
request = Net::HTTP::Post.new(uri, headers)
request.body = ${literal(request.body, "ruby", 0, 23)}.to_json

$stdout.sync = true
${afterwards && "finished = false\n"}Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", read_timeout: ${request.silence}) do |http|
  http.request(request) do |reply|
    unless reply.is_a?(Net::HTTPSuccess)
      problem = JSON.parse(reply.read_body)
      abort "#{problem["code"]} #{problem["reason"]}: #{problem["detail"]}"
    end
${reading}  end
end
${afterwards}`

const CUT = String.raw`abort "the stream was cut" unless finished
`

const event = (indent: string): string =>
  String.raw`case event["type"]
when "text" then print event["text"]
when "error" then abort "#{event["code"]} #{event["reason"]}: #{event["message"]}"
when "finished" then finished = true
end`.replaceAll(/^/gm, indent)

const lines = (before: string, each: string): string => String.raw`    rest = +""
${before}    reply.read_body do |part|
      rest << part
      while (line = rest.slice!(/.*\n/n))
${each}      end
    end
`

const NDJSON = lines(
  "",
  String.raw`        next if line == "\n" # a heartbeat
        event = JSON.parse(line)
${event("        ")}
`,
)

const SSE = lines(
  "    kind = nil\n",
  String.raw`        if line.start_with?("event: ")
          kind = line[7..].chomp
        elsif line.start_with?("data: ")
          event = { "type" => kind, **JSON.parse(line[6..]) }
${event("          ")}
        end
`,
)

const TEXT = String.raw`    reply.read_body { |part| print part }
`

const ARTICLE = lines(
  `    kind, data = nil, []\n`,
  String.raw`        if line.start_with?("event: ")
          kind = line[7..].chomp
        elsif line.start_with?("data: ")
          data << line[6...-1]
        elsif line == "\n"
          case kind
          when "end" then finished = true
          when "error"
            error = JSON.parse(data.first)
            abort "#{error["code"]} #{error["reason"]}: #{error["message"]}"
          else print data.join("\n")
          end
          kind, data = nil, []
        end
`,
)

const connect = (request: Request): string => String.raw`require "json"
require "net/http"

run = ${literal(request.body, "ruby", 0, 6)}
run[:inputJson] = ${literal(request.input, "ruby", 0, 26)}.to_json
message = run.to_json

uri = URI(${text(`${request.url}/deltawire.v1.Functions/Stream`)})
request = Net::HTTP::Post.new(uri, "content-type" => "application/connect+json")
request.body = [0, message.bytesize].pack("CN") + message.b # flags and length stand before each message

$stdout.sync = true
finished = false
Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", read_timeout: ${request.silence}) do |http|
  http.request(request) do |reply|
    rest = +"".b
    reply.read_body do |part|
      rest << part
      while rest.bytesize >= 5 && rest.bytesize >= 5 + (length = rest.unpack1("@1N"))
        flags = rest.slice!(0, 5).getbyte(0)
        event = JSON.parse(rest.slice!(0, length))
        abort "#{event["error"]["code"]}: #{event["error"]["message"]}" if event["error"]
        finished = true if flags == 2
        print event["text"]
      end
    end
  end
end
abort "the stream was cut" unless finished
`

export const ruby: Partial<Record<Shape, (request: Request) => string>> = {
  sse: (request) => posting(request, SSE, CUT),
  ndjson: (request) => posting(request, NDJSON, CUT),
  text: (request) => posting(request, TEXT, ""),
  article: (request) => posting(request, ARTICLE, CUT),
  connect,
}
