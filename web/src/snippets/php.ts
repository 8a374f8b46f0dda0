// Programs in PHP 8 with what every PHP has; plain text takes its extension curl, which notices that a reply was cut.

import { literal, stringLiteral } from "./literals.ts"
import type { Request, Shape } from "./request.ts"

const text = (value: string): string => stringLiteral(value, "php")

const opened = (request: Request, url: string, headers: string, content: string): string => String.raw`
$reply = fopen(${text(url)}, "r", false, stream_context_create(["http" => [
    "method" => "POST",
    "protocol_version" => "1.1",
    "header" => ${headers},
    "content" => ${content},
    "timeout" => ${request.silence},
    "ignore_errors" => true,
]])) ?: throw new RuntimeException("nobody answers");
`

const posting = (request: Request, reading: string): string => String.raw`<?php
$body = ${literal(request.body, "php", 0, 8)};
${opened(
  request,
  request.url,
  literal(["content-type: application/json", `accept: ${request.accept}`], "php", 1, 12),
  "json_encode($body, JSON_THROW_ON_ERROR)",
)}
if (!str_contains(stream_get_meta_data($reply)["wrapper_data"][0], " 200 ")) {
    $problem = json_decode(stream_get_contents($reply), true);
    throw new RuntimeException("$problem[code] $problem[reason]: $problem[detail]");
}

$finished = false;
${reading}if (!$finished) {
    throw new RuntimeException("the stream was cut");
}
`

const event = (indent: string): string =>
  String.raw`match ($event["type"]) {
    "text" => print $event["text"],
    "error" => throw new RuntimeException("$event[code] $event[reason]: $event[message]"),
    "finished" => $finished = true,
    default => null,
};
flush();`.replaceAll(/^/gm, indent)

const NDJSON = String.raw`while (($line = fgets($reply)) !== false) {
    if ($line === "\n") {
        continue; // a heartbeat
    }
    $event = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
${event("    ")}
}
`

const SSE = String.raw`while (($line = fgets($reply)) !== false) {
    if (str_starts_with($line, "event: ")) {
        $kind = rtrim(substr($line, 7));
    } elseif (str_starts_with($line, "data: ")) {
        $event = ["type" => $kind] + json_decode(substr($line, 6), true, flags: JSON_THROW_ON_ERROR);
${event("        ")}
    }
}
`

const ARTICLE = String.raw`$kind = "";
$data = [];
while (($line = fgets($reply)) !== false) {
    if (str_starts_with($line, "event: ")) {
        $kind = rtrim(substr($line, 7));
    } elseif (str_starts_with($line, "data: ")) {
        $data[] = substr($line, 6, -1);
    } elseif ($line === "\n") {
        if ($kind === "error") {
            $error = json_decode($data[0], true);
            throw new RuntimeException("$error[code] $error[reason]: $error[message]");
        }
        if ($kind === "end") {
            $finished = true;
        } else {
            echo implode("\n", $data);
            flush();
        }
        $kind = "";
        $data = [];
    }
}
`

const plain = (request: Request): string => String.raw`<?php
$body = ${literal(request.body, "php", 0, 8)};
$problem = "";
$curl = curl_init(${text(request.url)});
curl_setopt_array($curl, [
    CURLOPT_POSTFIELDS => json_encode($body, JSON_THROW_ON_ERROR),
    CURLOPT_HTTPHEADER => ["content-type: application/json", "accept: text/plain"],
    CURLOPT_WRITEFUNCTION => function (CurlHandle $curl, string $part) use (&$problem): int {
        if (curl_getinfo($curl, CURLINFO_RESPONSE_CODE) === 200) {
            echo $part;
            flush();
        } else {
            $problem .= $part;
        }
        return strlen($part);
    },
    CURLOPT_TIMEOUT => ${request.silence},
]);
if (!curl_exec($curl)) {
    throw new RuntimeException(curl_error($curl)); // also where the answer was cut
}
if ($problem !== "") {
    $problem = json_decode($problem, true);
    throw new RuntimeException("$problem[code] $problem[reason]: $problem[detail]");
}
`

const connect = (request: Request): string => String.raw`<?php
$run = ${literal(request.body, "php", 0, 7)};
$run["inputJson"] = json_encode(${literal(request.input, "php", 0, 32)}, JSON_THROW_ON_ERROR);
$message = json_encode($run, JSON_THROW_ON_ERROR);
${opened(
  request,
  `${request.url}/deltawire.v1.Functions/Stream`,
  `["content-type: application/connect+json"]`,
  `pack("CN", 0, strlen($message)) . $message`,
)}
$end = null;
while (!$end && strlen($head = stream_get_contents($reply, 5)) === 5) { // flags and length stand before each message
    ["flags" => $flags, "length" => $length] = unpack("Cflags/Nlength", $head);
    $event = json_decode(stream_get_contents($reply, $length), true, flags: JSON_THROW_ON_ERROR);
    if ($flags === 2) {
        $end = ["error" => null, ...$event];
    } else {
        echo $event["text"] ?? "";
        flush();
    }
}
if ($error = $end ? $end["error"] : ["code" => "unavailable", "message" => "the stream was cut"]) {
    throw new RuntimeException("$error[code]: $error[message]");
}
`

export const php: Partial<Record<Shape, (request: Request) => string>> = {
  sse: (request) => posting(request, SSE),
  ndjson: (request) => posting(request, NDJSON),
  text: plain,
  article: (request) => posting(request, ARTICLE),
  connect,
}
