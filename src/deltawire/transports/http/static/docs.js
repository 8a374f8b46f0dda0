"use strict";
// Draws the operations of openapi.json and tries them. What the document says is data: it only ever becomes text.

const base = new URL("./", document.baseURI);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function inJson(value) {
  return JSON.stringify(value, null, 2);
}

function firstExample(media) {
  if ("example" in media) return media.example;
  const [named] = Object.values(media.examples ?? {});
  return named?.value;
}

function responsesOf(operation) {
  const rows = Object.entries(operation.responses).map(([status, response]) =>
    element("tr", {}, element("td", {}, element("code", { textContent: status })),
      element("td", { className: "said", textContent: response.description })));
  return element("table", {}, element("tbody", {}, ...rows));
}

// The schema with the components that it refers to, once each.
function schemasOf(schema, components) {
  const shown = new Map();
  const visit = (value) => {
    if (value === null || typeof value !== "object") return;
    const name = typeof value.$ref === "string" ? value.$ref.split("/").pop() : undefined;
    if (name !== undefined && !shown.has(name) && name in components) {
      shown.set(name, components[name]);
      visit(components[name]);
    }
    Object.values(value).forEach(visit);
  };
  visit(schema);
  return inJson({ schema, components: Object.fromEntries(shown) });
}

function folded(title, text) {
  return element("details", {}, element("summary", { textContent: title }),
    element("div", { className: "body" }, element("pre", { textContent: text })));
}

async function call(method, path, body, accept, output, signal) {
  const headers = { accept };
  if (body !== null) headers["content-type"] = "application/json";
  output.textContent = "…";
  try {
    const response = await fetch(new URL(path.slice(1), base), { method, headers, body, signal });
    const head = [`${response.status} ${response.statusText}`];
    for (const name of ["content-type", "deltawire-run-id", "retry-after"]) {
      if (response.headers.has(name)) head.push(`${name}: ${response.headers.get(name)}`);
    }
    output.textContent = head.join("\n") + "\n\n";
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) output.append(part.value);
    if (/json/.test(response.headers.get("content-type") ?? "") && accept !== "application/x-ndjson") {
      const text = output.textContent.slice(output.textContent.indexOf("\n\n") + 2);
      output.textContent = head.join("\n") + "\n\n" + inJson(JSON.parse(text));
    }
  } catch (error) {
    output.append(`\n${error.name === "AbortError" ? "Stopped." : `The call failed: ${error.message}`}`);
  }
}

function trial(method, path, operation) {
  const form = element("form", { className: "body" });
  const media = operation.requestBody?.content["application/json"];
  const body = media && element("textarea", { spellcheck: false, value: inJson(firstExample(media) ?? {}) });
  if (body) form.append(element("label", {}, "The body", body));
  const accept = element("select", {});
  for (const type of Object.keys(operation.responses["200"].content)) accept.append(element("option", { textContent: type }));
  const send = element("button", { textContent: "Call" });
  const stop = element("button", { type: "button", textContent: "Stop", disabled: true });
  const output = element("pre", { hidden: true });
  output.setAttribute("aria-live", "polite");
  form.append(element("div", { className: "form" }, element("label", {}, "Reply: ", accept), send, stop), output);
  let current = null;
  stop.addEventListener("click", () => current?.abort());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    current?.abort();
    const mine = current = new AbortController();
    output.hidden = stop.disabled = false;
    await call(method, path, body ? body.value : null, accept.value, output, mine.signal);
    if (current === mine) stop.disabled = true;
  });
  return form;
}

function operationOf(method, path, operation, components) {
  const content = element("div", { className: "body" });
  if (operation.description) content.append(element("p", { className: "said", textContent: operation.description }));
  const request = operation.requestBody?.content["application/json"].schema;
  if (request) content.append(folded("Schema of the body", schemasOf(request, components)));
  const reply = operation.responses["200"].content["application/json"].schema;
  content.append(folded("Schema of the reply", schemasOf(reply, components)));
  const all = element("details", {}, element("summary", { textContent: "Replies" }),
    element("div", { className: "body" }, responsesOf(operation)));
  content.append(all, trial(method, path, operation));
  return element("details", { id: operation.operationId }, element("summary", {},
    element("b", { textContent: method }), element("code", { textContent: path }), operation.summary ?? ""), content);
}

async function draw() {
  const about = document.getElementById("about");
  try {
    const api = await (await fetch(new URL("openapi.json", base))).json();
    const operations = document.getElementById("operations");
    for (const [path, item] of Object.entries(api.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        operations.append(operationOf(method.toUpperCase(), path, operation, api.components.schemas));
      }
    }
    about.replaceChildren(`${api.info.description} `, element("a", { href: "openapi.json", textContent: "openapi.json" }));
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.setAttribute("open", "");
  } catch (error) {
    about.textContent = `openapi.json could not be read: ${error.message}`;
  }
}

draw();
