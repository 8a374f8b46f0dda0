// OpenAI's client for Node, unchanged but for its base URL: makes the calls that its argument lists (JSON) one after
// another, and prints what came of each as a line of JSON. `stop` tells a stream to leave at its first content.

import OpenAI from "openai";

const [baseURL, calls] = process.argv.slice(2);

for (const { stop, options, ...body } of JSON.parse(calls)) {
  const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0, ...options });
  const came = { content: "", refusal: "", reasoning: "" };
  try {
    if (body.model === undefined) {
      came.models = (await client.models.list()).data.map((model) => model.id);
    } else if (body.stream) {
      for await (const chunk of await client.chat.completions.create(body)) {
        const { delta, finish_reason } = chunk.choices[0] ?? {};
        came.content += delta?.content ?? "";
        came.refusal += delta?.refusal ?? "";
        came.reasoning += delta?.reasoning_content ?? "";
        came.finish = finish_reason ?? came.finish;
        came.tokens = chunk.usage?.total_tokens ?? came.tokens;
        if (stop && came.content) break;
      }
    } else {
      const { choices: [{ message, finish_reason }], usage } = await client.chat.completions.create(body);
      Object.assign(came, { content: message.content, refusal: message.refusal });
      Object.assign(came, { finish: finish_reason, tokens: usage?.total_tokens });
    }
  } catch (error) {
    const { status, code, type, param } = error;
    came.error = { kind: error.constructor.name, status, code, type, param };
  }
  console.log(JSON.stringify(came));
}
