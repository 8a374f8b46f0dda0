// The browser's own WebSocket, with one run on it.

export const websocket = (url, { name, input, timeout }, saw, signal) => new Promise((resolve, reject) => {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, "deltawire.v1")
  socket.onopen = () => socket.send(JSON.stringify({ type: "run", id: "1", function: name, input, timeout }))
  socket.onmessage = ({ data }) => {
    const { type, text, finish_reason, code, message, reason, run_id, partial } = JSON.parse(data)
    if (type === "text") saw.piece(text)
    if (run_id) saw.runId(run_id)
    if (type === "finished") saw.finished(finish_reason)
    if (type === "error") reject({ code, message, reason, about: { run_id, partial: String(partial) } })
    if (type === "finished" || type === "error") socket.close()
  }
  socket.onclose = () => resolve()  // before the last event, a cut: nothing has finished then
  signal.addEventListener("abort", () => socket.close())
})
