// Calls the server through types that were generated from its document: what does not fit them does not compile.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

declare const process: { argv: string[] };

const client = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: process.argv[2] });

const input: components["schemas"]["ListItemsInput"] = {
  passage: "a kettle",
  mode: "plane",
  pets: [{ kind: "cat", lives: 7 }, { kind: "dog", tricks: ["sit"] }],
  day: null,
};
const typed = await client.POST("/v1/functions/list_items", { body: { input, settings: { max_tokens: 9 } } });
if (typed.data === undefined) throw new Error(typed.error.detail);
const items: string[] = typed.data.output.map((item) => item.name);

const text = await client.POST("/v1/functions/chat", { body: { input: "hi" } });
const said: string | undefined = text.data?.output;

const refused = await client.POST("/v1/functions/chat", { body: { input: "hi", timeout: 1e-9 } });
const reason: components["schemas"]["Problem"]["reason"] | undefined = refused.error?.reason;

const invoked = await client.POST("/invoke", { body: { type: "größe", input: { text: "a" } } });

// @ts-expect-error: there is no such function
await client.POST("/v1/functions/nothing", { body: { input: "hi" } });
// @ts-expect-error: there is no such member
const wrong: components["schemas"]["ListItemsInput"] = { passage: "a", colour: "red" };

const events = createClient<paths, "text/event-stream">({ baseUrl: process.argv[2] });
const stream = await events.POST("/v1/functions/chat", {
  body: { input: "hi" },
  headers: { accept: "text/event-stream" },
  parseAs: "text",
});

console.log(JSON.stringify({
  items,
  said,
  reason,
  invoked: invoked.data,
  run_id: typed.response.headers.get("deltawire-run-id") === typed.data.run_id,
  streamed: (stream.data ?? "").split("\n").filter((line) => line.startsWith("event:")),
  wrong: wrong.passage,
}));
